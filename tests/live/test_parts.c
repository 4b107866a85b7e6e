/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel half is one object: if the kernel refuses the part of one signal, the others run. Each
 * recording loads it several times, so only slow_parts, made with EVERY_PART, refuses every signal.
 */
#include "../harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/parts.h"
#include "ledger.h"

#define NAME(name) #name,
static const char *const names[] = { EACH_SIGNAL(NAME) };

/* Whether the recording says that it went without the signal. */
static bool is_missing(json_t *report, const char *signal)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_missing", signal);
	return json_object_get(json_object_get(report, "quality"), name);
}

/* Each signal that runs has its hooks in the recording. */
static size_t hooks_of(json_t *report, const char *signal)
{
	size_t i, count = 0;
	json_t *hook;

	json_array_foreach (json_object_get(report, "hooks"), i, hook) {
		const char *name = json_string_value(json_object_get(hook, "signal"));

		count += name && !strcmp(name, signal) &&
			 json_is_string(json_object_get(hook, "kind"));
	}
	return count;
}

/* The option that asks for a signal; NULL: its name in the list is enough. */
static const char *option_of(const char *signal)
{
	return !strcmp(signal, "functions") ? "--function=main"
	       : !strcmp(signal, "events")  ? "--event=sched:sched_process_exit"
	       : !strcmp(signal, "heap")    ? "--memory-heap"
					    : NULL;
}

/* Records with one signal refused; `list` has it and others. */
static void refuse(int refused, const char *list)
{
	json_t *log, *report;
	char number[16];

	snprintf(number, sizeof(number), "%d", refused + 1);
	setenv("GAPLESS_TEST_REFUSE", number, 1);
	report = trial__record(strcmp(list, "all")
				       ? ARGS("--signals", list, option_of(names[refused]))
				       : ARGS("--signals", list, option_of("functions"),
					      option_of("events"), option_of("heap")),
			       WORKLOAD("split", "100"), &log);
	unsetenv("GAPLESS_TEST_REFUSE");
	assert_closes(report);
	/* Requests too go on. */
	assert_non_null(json_object_get(json_object_get(report, "quality"), "windows_lost"));
	for (int i = 0; i < SIGNAL_COUNT; i++) {
		bool is_named = !strcmp(list, "all") || strstr(list, names[i]);

		if (is_missing(report, names[i]) != (i == refused) ||
		    (is_named && !hooks_of(report, names[i]) != (i == refused)))
			fail_msg("'%s' with '%s' refused", names[i], names[refused]);
	}
	json_decref(report);
	json_decref(log);
}

/* With hooks of its own, at the ledger's hooks, and asked for by an option. */
static bool is_refused_here(int signal)
{
#ifdef EVERY_PART
	return true;
#else
	return signal == SIGNAL_block || signal == SIGNAL_files || signal == SIGNAL_functions ||
	       signal == SIGNAL_heap;
#endif
}

static void a_part_that_is_refused_costs_only_itself(void **state)
{
	for (int refused = 0; refused < SIGNAL_COUNT; refused++) {
		char list[64];

		if (!is_refused_here(refused))
			continue;

		snprintf(list, sizeof(list), "%s,%s", names[refused],
			 strcmp(names[refused], "exec") ? "exec" : "block");
		refuse(refused, list);
	}
}

/* To load all of them takes seconds. */
static void among_all_parts_too(void **state)
{
	refuse(SIGNAL_files, "all");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(a_part_that_is_refused_costs_only_itself),
		HERE(among_all_parts_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
