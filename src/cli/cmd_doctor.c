/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless doctor: can this machine be profiled? */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/log.h"
#include "base/term.h"
#include "cli/cli.h"
#include "cli/self_test.h"
#include "doctor/doctor.h"

#define NAME_COLUMN   11
#define DETAIL_COLUMN 38
#define MOST_CAPS     16

enum { OPTION_SELF_TEST = 256 };

struct options {
	struct cli_common common;
	bool caps;
	bool self_test;
};

DEFINE_CLEANUP(struct doctor *, doctor__release)

static int exit_code(enum doctor_verdict verdict)
{
	static const int codes[] = { 0, CLI_EXIT_GAPS, 1 };

	return codes[verdict];
}

static json_t *findings_json(const struct doctor *doctor)
{
	json_t *list = json_array();

	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *f = &doctor->findings[i];

		json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:s?, s:s?}", "layer",
						      f->layer, "name", f->name, "status",
						      doctor__status_name(f->status), "detail",
						      json__text(f->detail), "cost", f->cost,
						      "remedy", f->remedy));
	}
	return list;
}

static void print_continuation(const char *label, const char *words, int width)
{
	if (!words)
		return;
	printf("%*s%s ", DETAIL_COLUMN, "", label);
	term__wrap(stdout, words, DETAIL_COLUMN + (int)strlen(label) + 1, width);
}

/* `last_remedy`: that of the previous finding, so that a common remedy is printed once. */
static void print_finding(const struct finding *finding, const char *last_remedy, int width)
{
	static const enum term_style styles[] = { TERM_GOOD, TERM_WARN, TERM_BAD };
	enum term_style style = styles[finding->status];

	printf("  %s%-*s%s%-*s ", term__on(stdout, style), NAME_COLUMN - 2,
	       doctor__status_name(finding->status), term__off(stdout, style),
	       DETAIL_COLUMN - NAME_COLUMN - 1, finding->name);
	term__wrap(stdout, finding->detail, DETAIL_COLUMN, width);
	if (finding->status == DOCTOR_OK)
		return;
	print_continuation("costs:", finding->cost, width);
	if (!finding->remedy || !last_remedy || strcmp(finding->remedy, last_remedy))
		print_continuation("remedy:", finding->remedy, width);
}

static void print_findings(const struct doctor *doctor)
{
	int width = term__width(stdout);
	const char *layer = "", *remedy = NULL;
	enum doctor_verdict verdict = doctor__verdict(doctor);
	size_t ok = 0;

	for (size_t i = 0; i < doctor->count; i++) {
		const struct finding *finding = &doctor->findings[i];

		if (strcmp(layer, finding->layer))
			printf("%s%s%s%s\n", i ? "\n" : "", term__on(stdout, TERM_BOLD),
			       finding->layer, term__off(stdout, TERM_BOLD));
		layer = finding->layer;
		ok += finding->status == DOCTOR_OK;
		print_finding(finding, remedy, width);
		remedy = finding->remedy;
	}
	printf("\nverdict: %s (%zu of %zu checks ok)\n", doctor__verdict_name(verdict), ok,
	       doctor->count);
}

static int run_checks(const struct options *options)
{
	struct doctor doctor;
	cleanup(doctor__release_p) struct doctor *release = &doctor;
	int err = doctor__run(&doctor);
	enum doctor_verdict verdict;

	if (err) {
		log_error("doctor could not finish: %s", strerror(-err));
		return 1;
	}
	verdict = doctor__verdict(&doctor);
	if (!options->common.json)
		print_findings(&doctor);
	else if (!cli__print_json(json_pack("{s:o, s:s}", "capabilities", findings_json(&doctor),
					    "verdict", doctor__verdict_name(verdict))))
		return 1;
	return exit_code(verdict);
}

static void print_list(const struct doctor_cap *caps, const char *separator, bool upper)
{
	const char *before = "";

	for (; caps->name; caps++) {
		if (!caps->held)
			continue;
		fputs(before, stdout);
		before = separator;
		for (const char *c = caps->name; *c; c++)
			putchar(upper ? toupper((unsigned char)*c) : *c);
	}
}

static void print_caps(const char *heading, const struct doctor_cap *caps)
{
	printf("%s\n", heading);
	for (const struct doctor_cap *cap = caps; cap->name; cap++)
		if (cap->held)
			printf("  %-20s %s\n", cap->name, cap->need);
	printf("  for a file:    setcap ");
	print_list(caps, ",", false);
	printf("+ep /path/to/gapless\n  for a service: AmbientCapabilities=");
	print_list(caps, " ", true);
	printf("\n                 CapabilityBoundingSet=");
	print_list(caps, " ", true);
	putchar('\n');
}

static json_t *caps_json(const struct doctor_cap *caps)
{
	json_t *list = json_array();

	for (; caps->name; caps++)
		if (caps->held)
			json_array_append_new(list, json_pack("{s:s, s:s}", "name", caps->name,
							      "need", caps->need));
	return list;
}

static int run_caps(const struct options *options)
{
	struct doctor_cap some[MOST_CAPS], all[MOST_CAPS];
	int err = doctor__smallest_caps(false, some, MOST_CAPS);

	if (!err)
		err = doctor__smallest_caps(true, all, MOST_CAPS);
	if (err == -EPERM) {
		log_error("the smallest set is found by trying, from root down "
			  "[sudo gapless doctor --caps]");
		return 1;
	}
	if (err) {
		log_error(
			"no set of capabilities works for an ordinary user here: %s [run as root]",
			strerror(-err));
		return 1;
	}
	if (options->common.json)
		return !cli__print_json(json_pack("{s:o, s:o}", "caps", caps_json(some),
						  "caps_with_user_functions", caps_json(all)));
	print_caps("smallest set for all but user functions, found by trying as user 'nobody':",
		   some);
	print_caps("\nwith user functions (uprobes, USDT):", all);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &options->common;
		return 0;
	case 'c':
		options->caps = true;
		return 0;
	case OPTION_SELF_TEST:
		options->self_test = true;
		return 0;
	case ARGP_KEY_END:
		if (options->caps && options->self_test)
			argp_error(state, "--caps or --self-test, not both");
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected word '%s'", arg);
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option option_list[] = {
	{ "caps", 'c', NULL, 0,
	  "Find by trying which capabilities gapless needs here, and print them", 0 },
	{ "self-test", OPTION_SELF_TEST, NULL, 0,
	  "Record work with known answers, and check what is measured", 0 },
	{},
};

static const struct argp_child children[] = { { &cli_common_argp, 0, NULL, 0 }, {} };

static const struct argp argp = {
	.options = option_list,
	.parser = parse,
	.children = children,
	.doc = "Can this machine be profiled? Layer by layer, with remedies.\v"
	       "Exit status: 0 usable, 3 usable with gaps, 1 not usable; with --self-test: 0 "
	       "passed, 1 failed.",
};

static int run(int argc, char **argv)
{
	struct options options = {};

	cli__parse(&argp, argc, argv, &options);
	if (options.self_test)
		return cli__may_measure() ? self_test__run(options.common.json) : 1;
	return options.caps ? run_caps(&options) : run_checks(&options);
}

const struct command doctor_command = {
	.name = "doctor",
	.about = "can this machine be profiled? layer by layer, with remedies",
	.argp = &argp,
	.run = run,
};
