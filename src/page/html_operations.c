/* What signals counted in the whole recording, the same numbers as in the other reports. */
#include "findings/signal_words.h"
#include "page/html_internal.h"

/* Limits; the rest is counted. Real recordings have about three hundred operations. */
#define MOST_OPERATIONS 500
#define MOST_SERVICES   200

size_t html__signal_count(const struct html *html)
{
	size_t count = html->model->signals.count;

	return count < HTML_MOST_SIGNALS ? count : HTML_MOST_SIGNALS;
}

void html__put_numbers(struct html_out *out, const char *key, const int64_t *numbers, int count)
{
	html_out__open(out, key, '[');
	for (int i = 0; i < count; i++)
		html_out__number(out, NULL, numbers[i]);
	html_out__close(out, ']');
}

static void put_who(struct html_out *out, const struct model_group *group,
		    const struct model_thread *thread)
{
	char who[1024] = "";
	bool known = signal_words__who(group, thread, who, sizeof(who));

	html_out__words(out, "who", known ? who : NULL);
}

static void put_measures(struct html_out *out, const struct signals_signal *signal)
{
	html_out__open(out, "measures", '[');
	for (int i = 0; i < signal->measure_count; i++) {
		if (!signal->measures[i].name)
			continue;
		html_out__open(out, NULL, '{');
		html_out__number(out, "id", i);
		html_out__text(out, "name", signal->measures[i].name);
		html_out__text(out, "unit", signal->measures[i].unit);
		html_out__close(out, '}');
	}
	html_out__close(out, ']');
}

static void put_row(struct html_out *out, const struct signals_signal *signal,
		    const struct signals_row *row)
{
	int64_t timed[SIGNALS_MEASURES] = {};
	char words[2048] = "";
	struct hump hump;

	for (int i = 0; i < signal->measure_count; i++)
		timed[i] = row->histograms[i].count;
	if (signal_words__hump(signal, row, &hump))
		signal_words__say_hump(signal, row, &hump, words, sizeof(words));
	html_out__open(out, NULL, '{');
	html_out__text(out, "place", row->place);
	html_out__text(out, "operation", row->operation);
	html_out__number(out, "count", row->part.sum.count);
	html_out__number(out, "errors", row->errors);
	put_who(out, row->part.group, row->part.thread);
	html_out__words(out, "hump", *words ? words : NULL);
	html__put_numbers(out, "sum", row->part.sum.sum, signal->measure_count);
	html__put_numbers(out, "max", row->part.sum.max, signal->measure_count);
	html__put_numbers(out, "p50", row->p50, signal->measure_count);
	html__put_numbers(out, "p99", row->p99, signal->measure_count);
	html__put_numbers(out, "timed", timed, signal->measure_count);
	html_out__close(out, '}');
}

static void put_rows(struct html *html, const struct signals_signal *signal)
{
	html_out__open(&html->out, "rows", '[');
	for (size_t i = 0; i < signal->row_count; i++) {
		if (i < MOST_OPERATIONS)
			put_row(&html->out, signal, &signal->rows[signal->ranks[i]]);
		else
			html->folded.operations++;
	}
	html_out__close(&html->out, ']');
}

static void put_service(struct html_out *out, const struct signals_service *service)
{
	const struct {
		const char *key;
		int64_t value;
	} numbers[] = {
		{ "connections", service->connections },
		{ "opened", service->opened },
		{ "ended", service->ended },
		{ "lifetime_ns", service->lifetime_ns },
		{ "bytes", service->bytes },
		{ "segments", service->segments },
		{ "sent_again", service->again },
		{ "resets", service->resets },
		{ "overflows", service->overflows },
		{ "zero_windows", service->zero_windows },
	};

	html_out__open(out, NULL, '{');
	html_out__text(out, "name", service->name);
	html_out__bool(out, "accepts", service->accepts);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		html_out__number(out, numbers[i].key, numbers[i].value);
	put_who(out, service->group, service->thread);
	html_out__close(out, '}');
}

static void put_services(struct html *html, const struct signals_signal *signal)
{
	html_out__open(&html->out, "services", '[');
	for (size_t i = 0; i < signal->service_count; i++) {
		if (i < MOST_SERVICES)
			put_service(&html->out, &signal->services[i]);
		else
			html->folded.services++;
	}
	html_out__close(&html->out, ']');
}

static void put_programs(struct html_out *out, const struct signals_signal *signal)
{
	html_out__open(out, "programs", '[');
	for (size_t i = 0; i < signal->program_count; i++) {
		const struct signals_program *program = &signal->programs[i];

		html_out__open(out, NULL, '{');
		html_out__text(out, "file", program->file);
		html_out__text(out, "parent", program->parent);
		html_out__number(out, "count", program->count);
		html_out__number(out, "ended", program->ended);
		html_out__number(out, "lifetime_ns", program->lifetime_ns);
		html_out__number(out, "max_ns", program->max_ns);
		html_out__number(out, "failed", program->failed);
		html_out__close(out, '}');
	}
	html_out__close(out, ']');
}

void html__put_operations(struct html *html)
{
	struct html_out *out = &html->out;

	html->folded.signals = (int64_t)(html->model->signals.count - html__signal_count(html));
	html_out__open(out, "signals", '[');
	for (size_t i = 0; i < html__signal_count(html); i++) {
		const struct signals_signal *signal = &html->model->signals.list[i];

		html_out__open(out, NULL, '{');
		html_out__text(out, "name", signal->name);
		html_out__text(out, "about", signal->about);
		html_out__text(out, "events", signal->events);
		html_out__number(out, "main", signal->main);
		html_out__number(out, "count", signal->sum.count);
		html_out__number(out, "errors", signal->errors);
		html_out__number(out, "event_count", signal->event_count);
		put_measures(out, signal);
		put_rows(html, signal);
		if (signal->service_count)
			put_services(html, signal);
		if (signal->program_count)
			put_programs(out, signal);
		html_out__close(out, '}');
	}
	html_out__close(out, ']');
}
