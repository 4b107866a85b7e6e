/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Samples on the page: bin, thread, state, and place in the code. */
#include "page/html_stacks.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "findings/findings.h"
#include "model/sample.h"
#include "page/html_windows.h"
#include "recording/recording.h"
#include "report/json_hot.h"

#define MOST_BLAMES       400
#define MOST_SAMPLES      220000
#define MOST_WAIT_SAMPLES 50000
#define MOST_WAIT_THREADS 100000

struct stacks {
	struct html *html;
	struct html_tree tree;
	struct html_table samples, waits;
	struct map blames; /* hash of (waiter, state, object, culprit) → blame + 1 */
};

static uint64_t blame_key(const struct model_thread *waiter, const struct model_state *state,
			  int64_t object, const struct model_thread *by)
{
	uint64_t hash = map__mix(0, (uintptr_t)waiter->group);

	hash = map__mix(hash, (uintptr_t)state);
	hash = map__mix(hash, (uint64_t)object);
	return map__mix(hash, by && model__has_culprit(state) ? (uintptr_t)by->group : 0);
}

static int32_t place_of(const struct html *html, const struct model_thread *thread)
{
	uint32_t place = thread ? html->threads[thread - html->model->threads] : HTML_NONE;

	return place == HTML_NONE ? -1 : (int32_t)place;
}

static void put_blame(struct html *html, const struct model_blame *blame)
{
	const struct model_wait *wait = blame->first;
	const struct model_thread *by = model__has_culprit(wait->state) ? wait->by : NULL;
	struct html_out *out = &html->out;
	char name[2048] = "";

	json_out__open(&out->json, NULL, '{');
	findings__name(wait->waiter->group, blame->many_wait ? NULL : wait->waiter, name,
		       sizeof(name));
	html_out__words(out, "waiter", name);
	html_out__text(out, "process", wait->waiter->process_comm);
	json_out__number(&out->json, "thread",
			 blame->many_wait ? -1 : place_of(html, wait->waiter));
	json_out__number(&out->json, "state", wait->state - html->model->states);
	html_out__text(out, "object_kind", wait->object_kind);
	html_out__text(out, "object", wait->object_name);
	name[0] = '\0';
	if (by)
		findings__name(by->group, blame->by_many ? NULL : by, name, sizeof(name));
	html_out__words(out, "by", name);
	json_out__number(&out->json, "by_thread", blame->by_many ? -1 : place_of(html, by));
	html_out__text(out, "evidence", by || wait->first ? wait->evidence : "none");
	name[0] = '\0';
	if (wait->first)
		findings__name(wait->first->group, blame->first_many ? NULL : wait->first, name,
			       sizeof(name));
	html_out__words(out, "first", name);
	json_out__number(&out->json, "ns", blame->ns);
	json_out__number(&out->json, "count", blame->count);
	json_out__close(&out->json, '}');
}

static int put_blames(struct html *html, struct stacks *stacks)
{
	const struct model *model = html->model;
	int err = 0;

	json_out__open(&html->out.json, "waits", '[');
	for (size_t i = 0; i < model->blame_count && !err; i++) {
		const struct model_blame *blame = &model->blames[i];
		const struct model_wait *wait = blame->first;
		uint64_t key = blame_key(wait->waiter, wait->state, wait->alike, wait->by);

		if (i >= MOST_BLAMES) {
			html->folded.waits++;
			html->folded.wait_ns += blame->ns;
			continue;
		}
		put_blame(html, blame);
		/*
		 * Samples have no evidence. If two blames differ only in evidence, the longer one
		 * shows the samples.
		 */
		if (!map__get(&stacks->blames, key))
			err = map__put(&stacks->blames, key, (void *)(uintptr_t)(i + 1));
	}
	json_out__close(&html->out.json, ']');
	return err;
}

/*
 * Writes the sums of each thread in each wait on the page, from the ledger, not from samples. Waits
 * beyond MOST_WAIT_THREADS rows are counted in `folded`.
 */
static int put_wait_threads(struct html *html)
{
	static const struct html_column columns[] = { { "wait", HTML_COLUMN_KEY },
						      { "thread", HTML_COLUMN_KEY },
						      { "ns", HTML_COLUMN_VALUE },
						      { "count", HTML_COLUMN_VALUE } };
	const struct model *model = html->model;
	cleanup(html_rows__release) struct html_rows rows = {};
	cleanup(map__release) struct map places = {};
	int err = 0;

	for (size_t i = 0; i < model->blame_count && i < MOST_BLAMES && !err; i++)
		err = map__put(&places, (uintptr_t)model->blames[i].first,
			       (void *)(uintptr_t)(i + 1));
	for (size_t i = 0; i < model->wait_count && !err; i++) {
		const struct model_wait *wait = &model->waits[i];
		uintptr_t place =
			wait->blame ? (uintptr_t)map__get(&places, (uintptr_t)wait->blame) : 0;

		if (!place)
			continue;
		if (rows.count >= MOST_WAIT_THREADS) {
			html->folded.wait_threads++;
			continue;
		}
		err = html_rows__add(&rows,
				     &(struct html_row) { .key = { (int32_t)place - 1,
								   place_of(html, wait->waiter) },
							  .value = { wait->ns, wait->count } });
	}
	if (!err)
		html_rows__write(&rows, &html->out, "wait_threads", columns, 4);
	return err;
}

/* A row of `sample` with its references resolved. A wait covers all bins during which it lasted. */
struct taken {
	int32_t bin, bins, thread, state;
	uint32_t node, waker;
	int64_t weight_ns;
};

static int add_wait(struct html *html, struct stacks *stacks, const struct taken *taken,
		    const struct sample *sample)
{
	const struct model *model = html->model;
	const struct model_thread *thread = load__thread(model, sample->thread);
	const struct model_thread *by = load__thread(model, sample->by);
	const struct model_state *state = &model->states[taken->state];
	int64_t object = model__merged_object(model, sample->object);
	uintptr_t blame;

	if (!thread || (state->kind != KIND_DELAYING && state->kind != KIND_UNDECIDED))
		return 0;
	blame = (uintptr_t)map__get(&stacks->blames, blame_key(thread, state, object, by));
	if (!blame) {
		html->folded.loose_samples++;
		return 0;
	}
	return html_table__add(
		&stacks->waits,
		&(struct html_row) { .key = { (int32_t)blame - 1, taken->bin, taken->bins,
					      taken->thread, (int32_t)taken->node,
					      (int32_t)taken->waker },
				     .value = { taken->weight_ns, 1 } });
}

/* A tick has no length. A wait has one and weighs by the part inside the cut. */
static bool place_sample_in_time(const struct html *html, const struct sample *sample,
				 struct taken *taken)
{
	int64_t end_ns = sample->time_ns, wait_ns = sample->whole_wait_ns;
	struct html_span span = { .end_ns = end_ns };

	taken->bin = html_bins__at(&html->bins, end_ns - 1);
	taken->bins = 1;
	if (wait_ns <= 0 || end_ns < wait_ns)
		return true;
	span.begin_ns = end_ns - wait_ns;
	if (!html_bins__place(&html->bins, &span))
		return !html->model->cut;
	taken->bin = span.from;
	taken->bins = span.count;
	if (html->model->cut)
		taken->weight_ns = html__part(&span, taken->weight_ns);
	return true;
}

static int take_sample(void *context, const struct sample *sample)
{
	struct stacks *stacks = context;
	struct html *html = stacks->html;
	const struct model *model = html->model;
	const struct model_thread *thread = load__thread(model, sample->thread);
	const struct model_state *state = load__state(model, sample->state);
	struct taken taken = { .thread = place_of(html, thread),
			       .weight_ns = sample->whole_weight_ns };
	int err;

	if (!state)
		return -EBADMSG;
	if (!place_sample_in_time(html, sample, &taken))
		return 0;
	if (thread && (thread->outside || thread->flags & RECORDING_THREAD_OWN))
		return 0;
	taken.state = (int32_t)(state - model->states);
	err = html_tree__find(&stacks->tree, sample->stack, sample->none, &taken.node);
	if (!err && sample->waker_stack)
		err = html_tree__find(&stacks->tree, sample->waker_stack, NULL, &taken.waker);
	if (!err)
		err = html_table__add(
			&stacks->samples,
			&(struct html_row) { .key = { (int32_t)taken.node, taken.thread,
						      taken.state, taken.bin, taken.bins,
						      html_windows__mark_sample(model, sample) },
					     .value = { taken.weight_ns, 1 } });
	return err ? err : add_wait(html, stacks, &taken, sample);
}

/* Computes each node's own weight. Wakers get a small weight, so that they are kept. */
static int weigh(struct html_tree *tree, const struct stacks *stacks)
{
	const struct html_rows *samples = &stacks->samples.rows, *waits = &stacks->waits.rows;

	tree->weights = calloc(tree->scratch.hot.node_count, sizeof(*tree->weights));
	if (!tree->weights)
		return -ENOMEM;
	for (size_t i = 0; i < samples->count; i++) {
		int64_t *to = &tree->weights[samples->list[i].key[0]];

		if (__builtin_add_overflow(*to, samples->list[i].value[0], to))
			*to = INT64_MAX;
		*to += *to == 0;
	}
	for (size_t i = 0; i < waits->count; i++)
		tree->weights[waits->list[i].key[5]] += !tree->weights[waits->list[i].key[5]];
	return 0;
}

static void place_sample(struct html_row *row, void *context)
{
	const struct html_tree *tree = context;

	row->key[0] = (int32_t)tree->places[row->key[0]];
}

static void place_wait(struct html_row *row, void *context)
{
	const struct html_tree *tree = context;

	row->key[4] = (int32_t)tree->places[row->key[4]];
	row->key[5] = (int32_t)tree->places[row->key[5]];
}

static int fit(struct html *html, struct stacks *stacks)
{
	struct html_tree *tree = &stacks->tree;
	int err = weigh(tree, stacks);

	if (!err)
		err = html_tree__choose(tree, html);
	if (!err)
		err = html_rows__change(&stacks->samples.rows, place_sample, tree);
	if (!err)
		err = html_rows__change(&stacks->waits.rows, place_wait, tree);
	if (!err)
		err = html_table__fit(&stacks->samples);
	if (!err)
		err = html_table__fit(&stacks->waits);
	html->folded.samples = stacks->samples.left_out;
	html->folded.wait_samples = stacks->waits.left_out;
	return err;
}

static int put_samples(struct html *html, struct stacks *stacks)
{
	static const struct html_column sample_columns[] = {
		{ "node", HTML_COLUMN_KEY },    { "thread", HTML_COLUMN_KEY },
		{ "state", HTML_COLUMN_KEY },   { "bin", HTML_COLUMN_KEY },
		{ "bins", HTML_COLUMN_KEY },    { "us", HTML_COLUMN_MICROSECONDS },
		{ "count", HTML_COLUMN_VALUE },
	};
	static const struct html_column columns_with_windows[] = {
		{ "node", HTML_COLUMN_KEY },        { "thread", HTML_COLUMN_KEY },
		{ "state", HTML_COLUMN_KEY },       { "bin", HTML_COLUMN_KEY },
		{ "bins", HTML_COLUMN_KEY },        { "mark", HTML_COLUMN_KEY },
		{ "us", HTML_COLUMN_MICROSECONDS }, { "count", HTML_COLUMN_VALUE },
	};
	static const struct html_column wait_columns[] = {
		{ "wait", HTML_COLUMN_KEY },        { "bin", HTML_COLUMN_KEY },
		{ "bins", HTML_COLUMN_KEY },        { "thread", HTML_COLUMN_KEY },
		{ "node", HTML_COLUMN_KEY },        { "waker", HTML_COLUMN_KEY },
		{ "us", HTML_COLUMN_MICROSECONDS }, { "count", HTML_COLUMN_VALUE },
	};
	bool has_windows = html->model->windows.service_count > 0;
	int err = html_tree__write(&stacks->tree, html);

	if (!err)
		err = html__put_table(html, "samples", &stacks->samples,
				      has_windows ? columns_with_windows : sample_columns,
				      has_windows ? 8 : 7);
	if (!err)
		err = html__put_table(html, "wait_samples", &stacks->waits, wait_columns, 8);
	json_out__json(&html->out.json, "sampling", json_hot__samples(html->model));
	return err;
}

int html__put_waits_and_stacks(struct html *html)
{
	int32_t bins = (int32_t)html->bins.count;
	struct stacks stacks = {
		.html = html,
		.samples = { .at = 3,
			     .spans = true,
			     .most = MOST_SAMPLES,
			     .thins = true,
			     .bins = bins },
		.waits = { .at = 1,
			   .spans = true,
			   .most = MOST_WAIT_SAMPLES,
			   .thins = true,
			   .bins = bins },
	};
	int err = put_blames(html, &stacks);

	if (!err)
		err = put_wait_threads(html);

	if (!err && html->model->hot.known)
		err = html_tree__load(&stacks.tree, html);
	if (!err && html->model->hot.known)
		err = sample__each(html->model, html->db, false, take_sample, &stacks);
	if (!err && html->model->hot.known)
		err = fit(html, &stacks);
	if (!err && html->model->hot.known)
		err = put_samples(html, &stacks);
	html_rows__release(&stacks.samples.rows);
	html_rows__release(&stacks.waits.rows);
	html_tree__release(&stacks.tree);
	map__release(&stacks.blames);
	return err;
}
