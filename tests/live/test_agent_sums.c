/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same nanoseconds everywhere: lifetimes, the page of metrics, and the block for the store. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "agent/collector.h"
#include "base/clock.h"
#include "identity/identity.h"
#include "metrics/pages.h"
#include "metrics/totals.h"
#include "spooled.h"
#include "store/fact.h"

static struct identity *names;

static uint64_t workload_of(void *context, const struct folding_process *process)
{
	const struct identity_process wanted = { .cgroup_id = process->cgroup_id,
						 .pid = (int32_t)process->pid,
						 .is_kernel = process->is_kernel,
						 .name = process->name };
	struct workload *workload;

	assert_int_equal(identity__find(names, &wanted, clock__now_ns(), &workload), 0);
	return workload->id;
}

static const char *service_of(void *context, uint64_t id)
{
	const struct workload *workload = identity__get(names, id);

	return workload ? workload->service : "";
}

static const struct workload *find_workload(void *context, uint64_t id)
{
	return identity__get(names, id);
}

static int take_block(void *context, const struct native_block *block)
{
	spooled__add(context, block->bytes, block->size);
	return 0;
}

static uint64_t sum_of_column(const struct spooled *stored, const char *column)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < stored->rows; i++)
		sum += spooled__get(stored, i, column)->number;
	return sum;
}

/* --- a page ----------------------------------------------------------------------------------- */

static uint64_t sum_of(const char *page, size_t size, const char *start)
{
	const char *end = page + size;
	uint64_t ns = 0;

	for (const char *line = page; line < end; line = strchr(line, '\n') + 1) {
		unsigned long long seconds, rest;

		if (strncmp(line, start, strlen(start)))
			continue;
		assert_int_equal(sscanf(strchr(line, ' '), " %llu.%9llu", &seconds, &rest), 2);
		ns += seconds * 1000000000 + rest;
	}
	return ns;
}

static uint64_t sum_of_page(struct totals *totals)
{
	const struct totals_agent agent = { .version = "", .kernel = "", .level = "" };
	struct exposition *exposition;
	struct pages *pages;
	const void *bytes;
	size_t size;
	uint64_t ns;

	assert_int_equal(totals__expose(totals, &agent, &exposition), 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	assert_int_equal(pages__get(pages, PAGES_PAGE(PAGES_TEXT, false), &bytes, &size), 0);
	ns = sum_of(bytes, size, "gapless_thread_seconds_total{");
	pages__unref(pages);
	return ns;
}

static void make_processes(void)
{
	for (int i = 0; i < 30; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	nanosleep(&(struct timespec) { .tv_nsec = 100000000 }, NULL);
}

static void page_store_and_lifetimes_agree_to_the_nanosecond(void **state)
{
	/* Small limits, so that much is merged. */
	const struct collector_options options = {
		.fold = { workload_of, service_of, identity__fold_name, NULL },
		.limits = { .most_rows = 16, .most_objects = 2, .most_groups = 3 },
	};
	const struct totals_options wish = { .detail = TOTALS_SERVICE, .most_services = 4 };
	const struct fact_host host = {
		.tenant = "t", .cluster = "", .name = "h", .kernel = "", .machine = ""
	};
	const struct fact_context context = { .host = &host,
					      .bucket_s = 60,
					      .find = find_workload };
	struct features *features = features__new();
	struct collector *collector;
	struct bucket *minute;
	struct totals *totals;
	struct spooled stored = {};
	uint64_t start_ns, life_ns = 0, ns = 0;
	const struct bucket_row *rows;
	size_t count;

	assert_int_equal(identity__new(&(struct identity_settings) {}, &names), 0);
	assert_int_equal(totals__new(&wish, &totals), 0);
	assert_int_equal(bucket__new(&options.limits, &minute), 0);
	assert_int_equal(collector__open(&options, features, &collector), 0);
	assert_int_equal(collector__start(collector, &start_ns), 0);
	for (int i = 0; i < 4; i++) {
		const struct bucket *step;

		make_processes();
		assert_int_equal(collector__step(collector, !i, &step), 0);
		rows = bucket__rows(step, &count);
		assert_int_equal(
			totals__add_step(totals, rows, count, 100000000, find_workload, NULL), 0);
		assert_int_equal(bucket__merge(minute, step), 0);
	}
	rows = bucket__rows(minute, &count);
	for (size_t i = 0; i < count; i++) {
		ns += rows[i].ns;
		life_ns += rows[i].thread_ns;
	}
	assert_true(bucket__folded(minute) > 0);
	assert_true(life_ns > 0);
	assert_int_equal(
		fact__encode(FACT_LEDGER, &context, rows, count, 1 << 20, take_block, &stored), 0);
	assert_int_equal(ns, life_ns);
	assert_int_equal(sum_of_column(&stored, "ns"), life_ns);
	assert_int_equal(sum_of_column(&stored, "thread_ns"), life_ns);
	assert_int_equal(stored.rows, count);
	assert_int_equal(sum_of_page(totals), life_ns);
	spooled__release(&stored);
	collector__free(collector);
	bucket__free(minute);
	totals__free(totals);
	identity__free(names);
	features__free(features);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_store_and_lifetimes_agree_to_the_nanosecond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
