/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gapless fleet flame. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/words.h"
#include "cli/fleet.h"
#include "cli/output.h"
#include "export/exporter.h"
#include "fleet/fleet_flame.h"

struct drawing {
	const struct profile *profile;
	const struct exporter *exporter;
	bool in_page;
};

static int ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), end_length = strlen(end);

	return length > end_length && !strcmp(text + length - end_length, end);
}

static int choose(const char *path, struct drawing *ret)
{
	if (!path || !strcmp(path, "-") || ends_with(path, ".folded")) {
		ret->exporter = &export_folded;
	} else if (ends_with(path, ".svg") || ends_with(path, ".html")) {
		ret->exporter = &export_svg;
		ret->in_page = ends_with(path, ".html");
	} else {
		log_error("'%s' is no known format [FILE.svg, FILE.html or FILE.folded]", path);
		return -EINVAL;
	}
	return 0;
}

/* The image in a page: without its first line, which is for XML only. */
static int write_page(const struct drawing *drawing, FILE *out)
{
	cleanup(free_p) char *text = NULL;
	size_t size;
	FILE *image = open_memstream(&text, &size);
	const char *body;
	int err;

	if (!image)
		return -ENOMEM;
	err = drawing->exporter->write(drawing->profile, image);
	if (fclose(image) || err)
		return err ?: -ENOMEM;
	body = strchr(text, '\n');
	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>", out);
	escape__xml(out, drawing->profile->target);
	fprintf(out, "</title></head>\n<body style=\"margin:0\">%s</body>\n</html>\n",
		body ? body : "");
	return ferror(out) ? -EIO : 0;
}

static int write_drawing(FILE *out, void *context)
{
	const struct drawing *drawing = context;

	return drawing->in_page ? write_page(drawing, out)
				: drawing->exporter->write(drawing->profile, out);
}

static void say_error(const struct fleet_flame *flame, FILE *out)
{
	double error_ns = flame->has_error ? flame->error_ns : flame->drawing_ns;

	fprintf(out, "%s of thread time from %s", words__time((int64_t)flame->total_ns).text,
		words__count((int64_t)flame->samples, "samples").text);
	if (flame->has_error)
		fprintf(out, " in %s", words__count((int64_t)flame->minutes, "host-minutes").text);
	fprintf(out, ", standard error %s%s\n",
		words__about((int64_t)error_ns, (int64_t)flame->total_ns).text,
		flame->has_error ? "" : " of drawing them");
	if (!flame->has_error)
		fprintf(out, "what choosing minutes adds to it is not known: %s\n",
			flame->is_cut ? "there are too many minutes [--from and --to]"
				      : "single minutes are kept for 3 days");
	if (flame->has_error && flame->minutes_seen >= flame->minutes)
		fprintf(out, "hosts with this service reported %s; %s of them have samples\n",
			words__count((int64_t)flame->minutes_seen, "host-minutes").text,
			words__about((int64_t)flame->minutes, (int64_t)flame->minutes_seen).text);
}

/* How far the picture is from the truth. */
static void say_quality(const struct fleet_flame *flame, FILE *out)
{
	int64_t difference = (int64_t)flame->total_ns - (int64_t)flame->ledger_ns;

	say_error(flame, out);
	if (flame->ledger_ns)
		fprintf(out,
			"the exact account of the whole period has %s: the samples have %s %s\n",
			words__time((int64_t)flame->ledger_ns).text,
			words__tiny_share(llabs(difference), (int64_t)flame->ledger_ns).text,
			difference < 0 ? "less" : "more");
	else
		fputs("the exact account of the period is not in the store\n", out);
	if (flame->expired_s)
		fprintf(out,
			"%s of this period has no hourly sums, and its minutes have expired: what "
			"was then, if anything, is missing here\n",
			words__time((int64_t)flame->expired_s * 1000000000).text);
	if (flame->profile->left_out_ns)
		fprintf(out, "without %s of waits for work [--idle]\n",
			words__time(flame->profile->left_out_ns).text);
	if (flame->left_out_ns)
		fprintf(out, "without %s in stacks with little time\n",
			words__time((int64_t)flame->left_out_ns).text);
	if (flame->unnamed_ns)
		fprintf(out,
			"%s is in stacks with frames without a name [gapless fleet symbolize]\n",
			words__about((int64_t)flame->unnamed_ns, (int64_t)flame->total_ns).text);
}

static int load(struct connection *connection, struct period *period, bool with_idle,
		uint64_t now_s, struct fleet_flame *ret)
{
	int err = fleet_flame__load(connection, period, with_idle, now_s, ret);

	if (err == -ENODATA)
		fleet__say_unknown(connection, period, "stacks");
	else if (err == -E2BIG)
		log_error("there are too many different stacks [--from and --to]");
	else if (err)
		log_error("%s", connection__problem(connection));
	if (err == -ENODATA)
		log_info("stacks are recorded at level stacks, or with 'gapless fleet burst %s "
			 "--hosts 10 --for 60s'",
			 period->service);
	return err;
}

int fleet__flame(struct connection *connection, const struct fleet_options *options)
{
	cleanup(fleet_flame__release) struct fleet_flame flame = {};
	cleanup(period__release) struct period period = {};
	cleanup(free_p) char *tenant = NULL;
	struct output output = { .path = options->output ? options->output : "-", .option = "-o" };
	struct drawing drawing = {};
	uint64_t now_s = (uint64_t)time(NULL);
	int err = choose(options->output, &drawing);

	if (!err)
		err = fleet__find(connection, options, now_s, &period, &tenant);
	if (err)
		return err == -EINVAL ? CLI_EXIT_USAGE : EXIT_FAILURE;
	err = load(connection, &period, options->idle, now_s, &flame);
	if (err)
		return EXIT_FAILURE;
	drawing.profile = flame.profile;
	err = output__write(&output, write_drawing, &drawing);
	if (!err)
		say_quality(&flame, output__is_stdout(&output) ? stderr : stdout);
	return err ? EXIT_FAILURE : 0;
}
