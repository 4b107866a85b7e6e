/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "page/html.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "findings/change.h"
#include "findings/findings.h"
#include "page/html_internal.h"
#include "recording/recording.h"

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/*
 * Limit on states: the table of states by bins is held in memory. Real recordings have about forty.
 */
#define MOST_STATES 1000
/* The place in the page where the data goes. */
#define DATA_MARK "@DATA@"

int html__each(struct html *html, const char *sql, html_take *take, void *context)
{
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	int err = load__prepare(html->model, html->db, sql, &row), rc;

	while (!err && (rc = sqlite3_step(row)) != SQLITE_DONE)
		err = rc == SQLITE_ROW ? take(html, context, row) : load__error(rc);
	return err;
}

int64_t html__part(const struct html_span *span, int64_t value)
{
	if (value <= 0)
		return 0;
	return span->part < 1 ? llround((double)value * span->part) : value;
}

int html__put_table(struct html *html, const char *key, struct html_table *table,
		    const struct html_column *columns, size_t count)
{
	json_out__open(&html->out.json, key, '{');
	json_out__number(&html->out.json, "width", table->width ? table->width : 1);
	html_rows__write(&table->rows, &html->out, "rows", columns, count);
	json_out__close(&html->out.json, '}');
	html_rows__release(&table->rows);
	return html->out.json.err;
}

/* The command that repeats the recording, redacted. */
static int put_command(struct html *html)
{
	const char *line = html->model->command_line;
	cleanup(free_p) char *shown = line ? redact__line(line, html->model->args) : NULL;

	html_out__text(&html->out, "command_line", shown && *shown ? shown : NULL);
	return line && !shown ? -ENOMEM : 0;
}

static int put_head(struct html *html)
{
	const struct model *model = html->model;
	struct html_out *out = &html->out;
	int err;

	json_out__number(&out->json, "format", 1);
	html_out__text(out, "version", model->version);
	html_out__text(out, "target", model->target);
	html_out__text(out, "level", model->level);
	html_out__text(out, "kernel", model->kernel);
	err = put_command(html);
	json_out__bool(&out->json, "complete", model->complete);
	json_out__number(&out->json, "start_unix_ms", model->start_unix_ns / 1000000);
	json_out__bool(&out->json, "cut", model->cut);
	json_out__number(&out->json, "wall_ns", model->wall_ns);
	json_out__number(&out->json, "threads_ns", model->threads_ns);
	json_out__number(&out->json, "unexplained_ns", model->unexplained_ns);
	json_out__number(&out->json, "remainder_ns", model->remainder_ns);
	json_out__number(&out->json, "cpus", model->cpus);
	json_out__json(&out->json, "idle_ns",
		       model->has_idle ? json_integer(model->idle_ns) : json_null());
	json_out__number(&out->json, "measured_threads", (int64_t)model->measured_threads);
	json_out__number(&out->json, "measured_processes", (int64_t)model->measured_processes);
	json_out__json(&out->json, "hooks", model->hooks ? json_incref(model->hooks) : json_null());
	return err;
}

static void put_finding(struct html *html, const struct finding *finding)
{
	struct html_out *out = &html->out;
	const struct model *model = html->model;

	json_out__open(&out->json, NULL, '{');
	html_out__words(out, "text", finding->text);
	json_out__number(&out->json, "ns", finding->ns);
	json_out__number(&out->json, "of_ns", finding->of_ns);
	html_out__words(out, "process", finding->group ? finding->group->process_comm : "");
	html_out__words(out, "threads", finding->group ? finding->group->name : "");
	html_out__words(out, "cause", finding->state ? finding->state->cause : "");
	html_out__words(out, "function",
			finding->function ? model->hot.functions[finding->function].name : "");
	json_out__close(&out->json, '}');
}

/* The stretch that differs from what came before it. */
static void put_change(struct html *html)
{
	struct html_out *out = &html->out;
	struct change change;

	if (!change__find(html->model, &change))
		return;
	json_out__open(&out->json, "change", '{');
	html_out__words(out, "text", change.text);
	html_out__words(out, "process", change.group->process_comm);
	html_out__words(out, "threads", change.group->name);
	html_out__words(out, "cause", change.state->cause);
	json_out__number(&out->json, "from_us", change.from_ns / 1000);
	json_out__number(&out->json, "to_us", change.to_ns / 1000);
	json_out__close(&out->json, '}');
}

static void put_findings(struct html *html)
{
	struct html_out *out = &html->out;
	struct findings findings;

	findings__make(html->model, &findings);
	json_out__open(&out->json, "findings", '[');
	for (size_t i = 0; i < findings.count; i++)
		put_finding(html, &findings.list[i]);
	json_out__close(&out->json, ']');
	html_out__words(out, "why_empty", findings.none);
	html_out__words(out, "idle", findings.last);
	put_change(html);
}

/* What the time outside syscalls consists of, in words. */
static void put_outside(struct html *html)
{
	char text[1024];

	user_time__say(html->model, text, sizeof(text));
	html_out__words(&html->out, "outside", text);
}

static void put_kinds(struct html *html)
{
	struct html_out *out = &html->out;

	json_out__open(&out->json, "kinds", '[');
	for (int i = 0; i < KIND_COUNT; i++) {
		const struct kind_words *kind = kinds__words(i);

		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "key", kind->key);
		html_out__text(out, "words", kind->words);
		html_out__text(out, "brief", kind->brief);
		html_out__text(out, "about", kind->about);
		html_out__colours(out, kind->light, kind->dark);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static void put_states(struct html *html)
{
	struct html_out *out = &html->out;

	json_out__open(&out->json, "states", '[');
	for (size_t i = 0; i < html->model->state_count; i++) {
		const struct model_state *state = &html->model->states[i];
		const struct state_words *look =
			states__words(states__look(state->state, state->cause, state->kind));

		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "state", state->state);
		html_out__text(out, "cause", state->cause);
		html_out__text(out, "kind", kinds__words(state->kind)->key);
		html_out__words(out, "about",
				state->slot ? states__words(state->slot)->about : state->cause);
		html_out__colours(out, look->light, look->dark);
		json_out__number(&out->json, "ns", state->ns);
		json_out__number(&out->json, "count", state->count);
		json_out__close(&out->json, '}');
	}
	json_out__close(&out->json, ']');
}

static void put_figures(struct html_out *out, const struct model_figure *figures, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		json_out__open(&out->json, NULL, '{');
		html_out__text(out, "name", figures[i].name);
		json_out__real(&out->json, "value", figures[i].value);
		html_out__text(out, "words", figures[i].words);
		if (figures[i].remedy && *figures[i].remedy)
			html_out__text(out, "remedy", figures[i].remedy);
		json_out__close(&out->json, '}');
	}
}

/* What was changed to keep the budget is a line of quality on the page. */
static void put_quality(struct html *html)
{
	const struct model *model = html->model;
	char words[WORDS_MOST_COLUMNS] = "";
	struct model_figure last = { .name = "budget_steps",
				     .value = (double)model->estimated.step_count,
				     .words = words };

	estimated__say_in_short(model, words, sizeof(words));
	json_out__open(&html->out.json, "quality", '[');
	put_figures(&html->out, model->qualities, model->quality_count);
	if (last.value)
		put_figures(&html->out, &last, 1);
	json_out__close(&html->out.json, ']');
}

/* Counts of what was left out to keep the page small. */
static void put_folded(struct html *html)
{
	struct html_out *out = &html->out;

	json_out__open(&out->json, "folded", '{');
	json_out__number(&out->json, "threads", (int64_t)html->other_threads);
	json_out__number(&out->json, "nodes", html->folded.nodes);
	json_out__number(&out->json, "samples", html->folded.samples);
	json_out__number(&out->json, "histograms", html->folded.histograms);
	json_out__number(&out->json, "waits", html->folded.waits);
	json_out__number(&out->json, "wait_ns", html->folded.wait_ns);
	json_out__number(&out->json, "operations", html->folded.operations);
	json_out__number(&out->json, "services", html->folded.services);
	json_out__number(&out->json, "series", html->folded.series);
	json_out__number(&out->json, "events", html->folded.events);
	json_out__number(&out->json, "accounts", html->folded.accounts);
	json_out__number(&out->json, "axes", html->folded.axes);
	json_out__number(&out->json, "wait_samples", html->folded.wait_samples);
	json_out__number(&out->json, "loose_samples", html->folded.loose_samples);
	json_out__number(&out->json, "wait_threads", html->folded.wait_threads);
	json_out__number(&out->json, "distributions", html->folded.distributions);
	json_out__number(&out->json, "signals", html->folded.signals);
	if (html->model->windows.service_count) {
		json_out__number(&out->json, "windows", html->folded.windows);
		json_out__number(&out->json, "window_services", html->folded.window_services);
		json_out__number(&out->json, "window_classes", html->folded.window_classes);
		json_out__number(&out->json, "window_waits", html->folded.window_waits);
	}
	json_out__number(&out->json, "torn", html->bins.torn);
	json_out__number(&out->json, "names", html->out.texts.left_out);
	json_out__close(&out->json, '}');
}

static int put_document(struct html *html, json_t *diff)
{
	static int (*const parts[])(struct html *html) = {
		html__put_threads,   html__put_time,    html__put_waits_and_stacks, html__put_calls,
		html__put_latencies, html__put_signals, html__put_windows,
	};
	int err = html_bins__load(&html->bins, html->model, html->db);

	if (err)
		return err;
	json_out__open(&html->out.json, NULL, '{');
	err = put_head(html);
	put_findings(html);
	put_kinds(html);
	put_states(html);
	put_outside(html);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && !err; i++)
		err = parts[i](html);
	put_quality(html);
	json_out__open(&html->out.json, "cost", '[');
	put_figures(&html->out, html->model->costs, html->model->cost_count);
	json_out__close(&html->out.json, ']');
	put_folded(html);
	if (diff)
		json_out__json(&html->out.json, "diff", json_incref(diff));
	html_out__texts(&html->out, "texts");
	json_out__close(&html->out.json, '}');
	fputc('\n', html->out.json.file);
	return err ? err : html->out.json.err;
}

int html__write_data(const char *path, const struct model_options *options, json_t *diff, FILE *out)
{
	cleanup(model__release) struct model model = {};
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	struct html html = { .model = &model,
			     .windows = &model,
			     .out.json = { .file = out, .in_page = true } };
	struct model_options shared = *options;
	int err;

	/* A page is meant to be shared, so secrets are redacted unless the user says otherwise. */
	if (shared.args == REDACT_DEFAULT)
		shared.args = REDACT_SECRETS;
	shared.history = true;
	err = model__load_open(path, &shared, &db, &model);
	if (err)
		return err;
	if (model.state_count > MOST_STATES)
		return -EBADMSG;
	html.db = db;
	err = put_document(&html, diff);
	html_out__release(&html.out);
	html_bins__release(&html.bins);
	free(html.threads);
	if (err)
		return err;
	return fflush(out) || ferror(out) ? -EIO : 0;
}

#ifdef HAVE_PAGE
static const char page[] =
#include "page/page.html.h"
	;

bool html__is_built(void)
{
	return true;
}

int html__write(const char *path, const struct model_options *options, json_t *diff, FILE *out)
{
	const char *mark = strstr(page, DATA_MARK);
	int err;

	if (!mark)
		return -ENOTSUP;
	fwrite(page, 1, (size_t)(mark - page), out);
	err = html__write_data(path, options, diff, out);
	if (err)
		return err;
	fputs(mark + strlen(DATA_MARK), out);
	return fflush(out) || ferror(out) ? -EIO : 0;
}
#else
bool html__is_built(void)
{
	return false;
}

int html__write(const char *path, const struct model_options *options, json_t *diff, FILE *out)
{
	return -ENOTSUP;
}
#endif
