/* SPDX-License-Identifier: GPL-2.0-or-later */
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
	json_out__open(&out->json, key, '[');
	for (int i = 0; i < count; i++)
		json_out__number(&out->json, NULL, numbers[i]);
	json_out__close(&out->json, ']');
}

void html__put_percentile(struct html_out *out, const char *key, int64_t value)
{
	if (value < 0)
		json_out__null(&out->json, key);
	else
		json_out__number(&out->json, key, value);
}

static void put_percentiles(struct html_out *out, const struct signals_signal *signal,
			    const struct signals_row *row)
{
	for (int i = 0; i < PERCENTILES; i++) {
		json_out__open(&out->json, percentiles__words(i)->key, '[');
		for (int j = 0; j < signal->measure_count; j++)
			html__put_percentile(out, NULL, row->percentiles[j][i]);
		json_out__close(&out->json, ']');
	}
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
	json_out__open(&out->json, "measures", '[');
	for (int i = 0; i < signal->measure_count; i++) {
		if (!signal->measures[i].name)
			continue;
		json_out__open(&out->json, NULL, '{');
		json_out__number(&out->json, "id", i);
		html_out__text(out, "name", signal->measures[i].name);
		html_out__text(out, "unit", signal->measures[i].unit);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
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
	json_out__open(&out->json, NULL, '{');
	html_out__text(out, "place", row->place);
	html_out__text(out, "operation", row->operation);
	json_out__number(&out->json, "count", row->part.sum.count);
	json_out__number(&out->json, "errors", row->errors);
	put_who(out, row->part.group, row->part.thread);
	html_out__words(out, "hump", *words ? words : NULL);
	html__put_numbers(out, "sum", row->part.sum.sum, signal->measure_count);
	html__put_numbers(out, "max", row->part.sum.max, signal->measure_count);
	put_percentiles(out, signal, row);
	html__put_numbers(out, "timed", timed, signal->measure_count);
	json_out__close(&out->json, '}');
}

static void put_rows(struct html *html, const struct signals_signal *signal)
{
	json_out__open(&html->out.json, "rows", '[');
	for (size_t i = 0; i < signal->row_count; i++) {
		if (i < MOST_OPERATIONS)
			put_row(&html->out, signal, &signal->rows[signal->ranks[i]]);
		else
			html->folded.operations++;
	}
	json_out__close(&html->out.json, ']');
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

	json_out__open(&out->json, NULL, '{');
	html_out__text(out, "name", service->name);
	json_out__bool(&out->json, "accepts", service->accepts);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		json_out__number(&out->json, numbers[i].key, numbers[i].value);
	put_who(out, service->group, service->thread);
	json_out__close(&out->json, '}');
}

static void put_services(struct html *html, const struct signals_signal *signal)
{
	json_out__open(&html->out.json, "services", '[');
	for (size_t i = 0; i < signal->service_count; i++) {
		if (i < MOST_SERVICES)
			put_service(&html->out, &signal->services[i]);
		else
			html->folded.services++;
	}
	json_out__close(&html->out.json, ']');
}

static void put_programs(struct html_out *out, const struct signals_signal *signal)
{
	json_out__open(&out->json, "programs", '[');
	for (size_t i = 0; i < signal->program_count; i++) {
		const struct signals_program *program = &signal->programs[i];

		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "file", program->file);
		html_out__text(out, "parent", program->parent);
		json_out__number(&out->json, "count", program->count);
		json_out__number(&out->json, "ended", program->ended);
		json_out__number(&out->json, "lifetime_ns", program->lifetime_ns);
		json_out__number(&out->json, "max_ns", program->max_ns);
		json_out__number(&out->json, "failed", program->failed);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

void html__put_operations(struct html *html)
{
	struct html_out *out = &html->out;

	html->folded.signals = (int64_t)(html->model->signals.count - html__signal_count(html));
	json_out__open(&out->json, "signals", '[');
	for (size_t i = 0; i < html__signal_count(html); i++) {
		const struct signals_signal *signal = &html->model->signals.list[i];

		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "name", signal->name);
		html_out__text(out, "about", signal->about);
		html_out__text(out, "events", signal->events);
		json_out__number(&out->json, "main", signal->main);
		json_out__number(&out->json, "count", signal->sum.count);
		json_out__number(&out->json, "errors", signal->errors);
		json_out__number(&out->json, "event_count", signal->event_count);
		put_measures(out, signal);
		put_rows(html, signal);
		if (signal->service_count)
			put_services(html, signal);
		if (signal->program_count)
			put_programs(out, signal);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}
