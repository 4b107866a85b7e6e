/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Services and what their windows spend time on: the exact sums of the model. */
#include "page/html_windows.h"

#include <stdio.h>
#include <string.h>

#include "vocabulary/states.h"

/* Limits; the rest is counted. Real recordings have a few services. */
#define MOST_CLASSES 300

struct look {
	uint32_t light, dark;
};

size_t html_windows__services(const struct model *model)
{
	size_t count = model->windows.service_count;

	return count < HTML_MOST_WINDOW_SERVICES ? count : HTML_MOST_WINDOW_SERVICES;
}

int html_windows__band(const struct windows_service *service, int64_t length_ns)
{
	if (model_windows__is_in(service, WINDOWS_SLOW, length_ns))
		return HTML_BAND_SLOW;
	return model_windows__is_in(service, WINDOWS_FAST, length_ns) ? HTML_BAND_FAST
								      : HTML_BAND_MIDDLE;
}

int32_t html_windows__mark(const struct model *model, const struct windows_one *one)
{
	const struct windows_service *service =
		one && one->begin_ns ? model_windows__service(&model->windows, one->class) : NULL;
	size_t number = service ? (size_t)(service - model->windows.services) : 0;

	if (!service || number >= HTML_MOST_WINDOW_SERVICES)
		return 0;
	return (int32_t)(1 + number * HTML_BANDS) + html_windows__band(service, one->length_ns);
}

int32_t html_windows__mark_sample(const struct model *model, const struct sample *sample)
{
	const struct windows_one *one = model_windows__of(&model->windows, sample->window,
							  sample->time_ns - sample->whole_wait_ns);

	if (!one)
		return 0;
	return html_windows__mark(model, one);
}

/* --- reasons ---------------------------------------------------------------------------------- */

/* Colours of parts; those of what threads did are the colours of states. */
static struct look look_of_part(const struct windows_reason *reason)
{
	static const struct look looks[WORDS_PARTS] = {
		[WORDS_PART_QUEUED_ASLEEP] = { 0xb8b8b8, 0x8a8a8a },
		[WORDS_PART_QUEUED_READY] = { 0xf0b400, 0xf7cf4a },
		[WORDS_PART_QUEUED_BUSY] = { 0xe07b00, 0xf29a3a },
		[WORDS_PART_QUEUED_READ] = { 0xc9a66b, 0xb59560 },
		[WORDS_PART_DOWNSTREAM] = { 0x009e73, 0x2bc79a },
		[WORDS_PART_SHARED] = { 0x33a888, 0x55c9a9 },
		[WORDS_PART_NOTICED] = { 0xc26a00, 0xd98b2b },
		[WORDS_PART_CLIENT_BYTES] = { 0x8a9a2b, 0xaebd55 },
		[WORDS_PART_CLIENT_WINDOW] = { 0x6b7a1e, 0x93a244 },
		[WORDS_PART_SET_ASIDE] = { 0xa35a00, 0xc47f33 },
		[WORDS_PART_HANDED] = { 0x7b5ea7, 0xa98bd6 },
		[WORDS_PART_RECEIVING] = { 0x4fb89b, 0x6fd3b8 },
		[WORDS_PART_ELSEWHERE] = { 0x777777, 0xa0a0a0 },
		[WORDS_PART_OVERLAP] = { 0x444444, 0xcccccc },
	};
	int part = window_words__find_part(reason->part);

	return part < 0 ? (struct look) { 0x8c6d31, 0xb99656 } : looks[part];
}

static struct look look_of(const struct model *model, const struct windows_reason *reason)
{
	const struct state_words *words;
	enum kind kind = KIND_DELAYING;

	if (!reason->state)
		return look_of_part(reason);
	for (size_t i = 0; reason->cause && i < model->state_count; i++)
		if (!strcmp(model->states[i].state, reason->state) &&
		    !strcmp(model->states[i].cause, reason->cause))
			kind = model->states[i].kind;
	if (!strcmp(reason->state, "run"))
		kind = KIND_RUN;
	words = states__words(
		states__look(reason->state, reason->cause ? reason->cause : "user", kind));
	return (struct look) { words->light, words->dark };
}

/* "own: running" has no text of its own. */
static const char *about_of(const struct windows_reason *reason)
{
	int part = window_words__find_part(reason->part);

	return part < 0 ? "" : window_words__part(part)->about;
}

void html_windows__put_reasons(struct html *html)
{
	const struct windows *windows = &html->model->windows;
	struct html_out *out = &html->out;

	json_out__open(&out->json, "reasons", '[');
	for (size_t i = 0; i < windows->reason_count; i++) {
		const struct windows_reason *reason = &windows->reasons[i];
		struct look look = look_of(html->model, reason);
		char words[256] = "";

		model_windows__say_reason(reason, words, sizeof(words));
		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "part", reason->part);
		html_out__words(out, "words", words);
		html_out__words(out, "about", about_of(reason));
		json_out__bool(&out->json, "overlap",
			       model_windows__is_part(reason, WORDS_PART_OVERLAP));
		html_out__colours(out, look.light, look.dark);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

/* --- services --------------------------------------------------------------------------------- */

static void put_percentiles(struct html_out *out, const int64_t *values)
{
	for (int i = 0; i < PERCENTILES; i++) {
		char key[16];

		snprintf(key, sizeof(key), "%s_ns", percentiles__words(i)->key);
		html__put_percentile(out, key, values[i]);
	}
}

/* Windows that did not go well, by how they ended. */
static void put_statuses(struct html_out *out, const struct windows_service *service)
{
	json_out__open(&out->json, "statuses", '[');
	for (int i = 0; i <= WORDS_STATUSES; i++) {
		const char *words =
			i < WORDS_STATUSES ? window_words__status(i)->words : "ended unknown";

		if (!service->statuses[i] || !*words)
			continue;
		json_out__open(&out->json, NULL, '{');
		html_out__words(out, "words", words);
		json_out__number(&out->json, "count", service->statuses[i]);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static void put_bands(struct html_out *out, const struct windows_service *service)
{
	json_out__open(&out->json, "bands", '[');
	for (int i = 0; i < WINDOWS_BANDS; i++) {
		const struct windows_band *band = &service->bands[i];

		json_out__open(&out->json, NULL, '{');
		json_out__number(&out->json, "from", band->from);
		json_out__number(&out->json, "to", band->to);
		json_out__number(&out->json, "count", band->count);
		json_out__number(&out->json, "n", band->n);
		json_out__number(&out->json, "length_ns", band->length_ns);
		json_out__number(&out->json, "kept", (int64_t)band->kept);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static void put_rows(struct html_out *out, const struct windows_service *service)
{
	json_out__open(&out->json, "rows", '[');
	for (size_t i = 0; i < service->row_count; i++) {
		const struct windows_row *row = &service->rows[i];

		json_out__open(&out->json, NULL, '{');
		json_out__number(&out->json, "reason", row->reason);
		json_out__number(&out->json, "ns", row->ns);
		html__put_numbers(out, "band_ns", row->band_ns, WINDOWS_BANDS);
		json_out__number(&out->json, "more_ns", (int64_t)row->more_ns);
		json_out__bool(&out->json, "claimed", row->is_claimed);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static void put_service(struct html *html, const struct windows_service *service)
{
	const struct windows_class *class = service->first;
	bool is_call = !strcmp(class->kind, window_words__kind(WORDS_KIND_CALL)->key);
	struct html_out *out = &html->out;
	char text[512];

	snprintf(text, sizeof(text), "%s", is_call ? "calls" : "requests");
	model_windows__say_service(service, text, sizeof(text));
	json_out__open(&out->json, NULL, '{');
	html_out__words(out, "title", text);
	text[0] = '\0';
	model_windows__say_count(service, service->count, service->n, text, sizeof(text));
	html_out__words(out, "counted", text);
	html_out__text(out, "kind", class->kind);
	json_out__number(&out->json, "pid", class->pid);
	json_out__number(&out->json, "count", service->count);
	json_out__number(&out->json, "n", service->n);
	json_out__number(&out->json, "length_ns", service->length_ns);
	put_percentiles(out, service->percentiles_ns);
	put_statuses(out, service);
	json_out__bool(&out->json, "compared", model_windows__is_compared(service));
	put_bands(out, service);
	put_rows(out, service);
	json_out__close(&out->json, '}');
}

static void put_class(struct html_out *out, const struct windows_class *class)
{
	int status = window_words__find_status(class->status);

	json_out__open(&out->json, NULL, '{');
	json_out__number(&out->json, "service", class->of);
	html_out__text(out, "name", class->name);
	html_out__words(out, "status", status < 0 ? "" : window_words__status(status)->words);
	json_out__number(&out->json, "count", class->count);
	json_out__number(&out->json, "length_ns", class->length_ns);
	put_percentiles(out, class->percentiles_ns);
	json_out__close(&out->json, '}');
}

static void put_classes(struct html *html)
{
	const struct windows *windows = &html->model->windows;

	json_out__open(&html->out.json, "classes", '[');
	for (size_t i = 0; i < windows->class_count; i++) {
		if (i < MOST_CLASSES && windows->classes[i].of < HTML_MOST_WINDOW_SERVICES)
			put_class(&html->out, &windows->classes[i]);
		else
			html->folded.window_classes++;
	}
	json_out__close(&html->out.json, ']');
}

int html__put_windows(struct html *html)
{
	const struct windows *windows = &html->model->windows;
	struct html_out *out = &html->out;
	int err;

	if (!windows->service_count)
		return 0;
	html->folded.window_services =
		(int64_t)(windows->service_count - html_windows__services(html->model));
	json_out__open(&out->json, "windows", '{');
	json_out__number(&out->json, "least", WINDOWS_LEAST);
	json_out__json(&out->json, "remainder",
		       windows->remainder < 0 ? json_null() : json_integer(windows->remainder));
	json_out__open(&out->json, "services", '[');
	for (size_t i = 0; i < html_windows__services(html->model); i++)
		put_service(html, &windows->services[i]);
	json_out__close(&out->json, ']');
	put_classes(html);
	err = html_windows__put_kept(html);
	html_windows__put_reasons(html);
	json_out__close(&out->json, '}');
	return err;
}
