/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A flame graph in one file: an SVG image with its style and script. Frames are placed in percent
 * of the width, so the image is complete without the script and fits any window with it.
 *
 * The outermost functions are at the top, where a reader starts. A frame has the colour of its kind
 * of code. The smaller the share of its time that it ran, the paler it is. What kept it from
 * running is the last frame of its stack, in the colour of the cause.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "export/exporter.h"
#include "export/label.h"
#include "export/svg_code.h"
#include "export/tree.h"

DEFINE_CLEANUP(struct tree *, tree__free)

#define WIDTH       1200
#define MARGIN      12
#define PANE        (WIDTH - 2 * MARGIN)
#define ROW         18
#define CHARACTER   6.65 /* width of the frames' font in pixels */
#define WORD        6.8  /* average width in the legend */
#define LEAST_PX    0.1
#define DETAILS_PX  34
#define MOST_CAUSES 16 /* in the legend */
#define SHADES      5

static const char style[] =
#include "export/svg.css.h"
	;
static const char script[] =
#include "export/svg.js.h"
	;

#define CAUSE_WHITE 0.35

/* A cause of not running: a label of the tree with its colour and its time. */
struct cause {
	const char *name;
	uint32_t colour;
	int64_t ns;
};

struct picture {
	const struct profile *profile;
	const struct tree *tree;
	struct cause causes[MOST_CAUSES];
	size_t cause_count;
	int64_t run_ns[SVG_CODES];
	bool has_code[SVG_CODES];
	uint32_t *depths;
	double *lefts; /* by node, as a share of the width */
	uint32_t deepest;
	size_t narrow_count;
	int64_t total_ns;
	FILE *out;
};

static void picture__release(struct picture *picture)
{
	free(picture->depths);
	free(picture->lefts);
}

struct words {
	char text[LABEL_SHORT];
};

static struct words time_words(int64_t ns)
{
	struct words words = {};

	label__time(ns, words.text);
	return words;
}

/* "12,700" */
static struct words count_words(size_t count)
{
	struct words words = {};
	char digits[24], *to = words.text;
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%zu", count);

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = '\0';
	return words;
}

static size_t columns_of(const char *text)
{
	size_t columns = 0;

	for (; *text; text++)
		columns += (*text & 0xc0) != 0x80;
	return columns;
}

/* The colour of a leaf such as "[wait.lock]". A cause of two kinds has the colour of the first. */
static uint32_t colour_of(const struct profile *profile, const char *name)
{
	char label[LABEL_SIZE];

	for (size_t i = 0; i < profile->state_count; i++) {
		size_t length = strlen(label__state(&profile->states[i], label));

		if (!strncmp(name + 1, label, length) && !strcmp(name + 1 + length, "]"))
			return svg_code__blend(states__words(profile->states[i].look)->light,
					       SVG_WHITE, CAUSE_WHITE);
	}
	return SVG_PALE;
}

/* Causes that do not fit share the last entry. */
static struct cause *cause_of(struct picture *picture, const struct tree_node *node)
{
	size_t i = 0;

	for (; i < picture->cause_count; i++)
		if (!strcmp(picture->causes[i].name, node->name))
			return &picture->causes[i];
	if (i == MOST_CAUSES)
		return &picture->causes[i - 1];
	picture->causes[i] = (struct cause) { .name = node->name,
					      .colour = colour_of(picture->profile, node->name) };
	picture->cause_count++;
	return &picture->causes[i];
}

static int compare_causes(const void *a, const void *b)
{
	const struct cause *left = a, *right = b;

	if (left->ns != right->ns)
		return left->ns > right->ns ? -1 : 1;
	return strcmp(left->name, right->name);
}

static void measure(struct picture *picture)
{
	const struct tree_node *nodes = picture->tree->nodes;

	for (uint32_t node = 0, next = 0; node != PROFILE_NONE;
	     node = tree__next(picture->tree, node)) {
		const struct tree_node *at = &nodes[node];
		double left = picture->lefts[node];
		size_t code = svg_code__of(picture->profile, at);

		picture->depths[node] = node ? picture->depths[at->parent] + 1 : 0;
		for (next = at->first_child; next != PROFILE_NONE;
		     next = nodes[next].next_sibling) {
			picture->lefts[next] = left;
			left += (double)nodes[next].total_ns / (double)picture->total_ns;
		}
		if (code < SVG_CODES) {
			picture->run_ns[code] += at->self_run_ns;
			picture->has_code[code] = true;
		}
		if (at->kind == TREE_READY || at->kind == TREE_WAIT)
			cause_of(picture, at)->ns += at->self_ns;
	}
	qsort(picture->causes, picture->cause_count, sizeof(*picture->causes), compare_causes);
}

static double width_of(const struct picture *picture, const struct tree_node *node)
{
	return (double)node->total_ns / (double)picture->total_ns;
}

static bool is_narrow(const struct picture *picture, const struct tree_node *node)
{
	return width_of(picture, node) * PANE < LEAST_PX;
}

static void find_depth(struct picture *picture)
{
	for (size_t i = 0; i < picture->tree->count; i++) {
		if (is_narrow(picture, &picture->tree->nodes[i]))
			picture->narrow_count++;
		else if (picture->depths[i] > picture->deepest)
			picture->deepest = picture->depths[i];
	}
}

static void print_colours(const struct picture *picture)
{
	for (size_t i = 0; i < SVG_CODES; i++) {
		for (int shade = 0; shade < SHADES; shade++) {
			double ran = 0.25 + 0.75 * shade / (SHADES - 1);

			if (picture->has_code[i])
				fprintf(picture->out, ".%s { fill: #%06x; }\n",
					svg_code__class(i, shade).text,
					svg_code__blend(SVG_PALE, svg_code__colour(i), ran));
		}
	}
	for (size_t i = 0; i < picture->cause_count; i++)
		fprintf(picture->out, ".c%zu { fill: #%06x; }\n", i, picture->causes[i].colour);
	fputs(".t { fill: #c3c9d1; }\n.n { fill: #b9aeb9; }\n", picture->out);
}

static void print_class(struct picture *picture, const struct tree_node *node)
{
	size_t code = svg_code__of(picture->profile, node);

	if (code < SVG_CODES)
		fputs(svg_code__class(code, lround((double)node->run_ns / (double)node->total_ns *
						   (SHADES - 1)))
			      .text,
		      picture->out);
	else if (node->kind == TREE_READY || node->kind == TREE_WAIT)
		fprintf(picture->out, "c%td", cause_of(picture, node) - picture->causes);
	else
		fputc(node->kind == TREE_NOTE ? 'n' : 't', picture->out);
}

/* Prints as much of a name as fits into `columns`. Names are UTF-8. */
static void print_fitting(const char *name, size_t columns, FILE *out)
{
	char text[PANE + 8], *to = text;
	bool whole = columns_of(name) <= columns;
	uint32_t point;

	for (size_t i = 0; *name && i < (whole ? columns : columns - 1); i++) {
		size_t length = utf8__decode(name, &point);

		if ((size_t)(to - text) + length + 1 > PANE)
			break;
		to = mempcpy(to, name, length ? length : 1);
		name += length ? length : 1;
	}
	*to = '\0';
	escape__xml(out, text);
	if (*name)
		fputs("…", out);
}

/* " (web.py:12, Python)" */
static void print_place(const struct picture *picture, const struct tree_node *node)
{
	char place[LABEL_SIZE];

	if (node->kind != TREE_MANAGED)
		return;
	label__place(picture->profile, node->function, place);
	fputs(" (", picture->out);
	escape__xml(picture->out, place);
	fprintf(picture->out, "%s%s)", *place ? ", " : "",
		code_language__name(code__language(&picture->profile->code, node->function)));
}

static void print_frame(struct picture *picture, uint32_t at)
{
	const struct tree_node *node = &picture->tree->nodes[at];
	double left = picture->lefts[at] * 100, width = width_of(picture, node) * 100;
	int top = (int)picture->depths[at] * ROW;
	int columns = (int)((width / 100 * PANE - 6) / CHARACTER);
	FILE *out = picture->out;

	fputs("<g class=\"f\"><title>", out);
	escape__xml(out, node->name);
	print_place(picture, node);
	fprintf(out, "\n%s, %.2f %%", time_words(node->total_ns).text, width);
	if (node->self_ns && node->self_ns != node->total_ns)
		fprintf(out, "\n%s in itself", time_words(node->self_ns).text);
	if (node->run_ns && node->run_ns != node->total_ns)
		fprintf(out, "\n%s running", time_words(node->run_ns).text);
	fputs("</title><rect class=\"", out);
	print_class(picture, node);
	fprintf(out, "\" x=\"%.5f%%\" y=\"%d\" width=\"%.5f%%\" height=\"%d\"/>", left, top, width,
		ROW - 1);
	if (columns >= 3) {
		fprintf(out, "<text x=\"%.5f%%\" y=\"%d\" dx=\"3\">", left, top + 13);
		print_fitting(node->name, (size_t)columns, out);
		fputs("</text>", out);
	}
	fputs("</g>\n", out);
}

/*
 * Prints one item, in the next row if this one is full. With `is_draft`, only computes the
 * position.
 */
static void print_item(struct picture *picture, double *x, int *y, const char *class,
		       const char *words, int64_t ns, bool is_draft)
{
	double width =
		20 + WORD * (double)(columns_of(words) + columns_of(time_words(ns).text) + 1);

	if (*x + width > WIDTH - MARGIN && *x > MARGIN) {
		*x = MARGIN;
		*y += ROW;
	}
	if (!is_draft) {
		fprintf(picture->out,
			"<rect class=\"%s\" x=\"%.0f\" y=\"%d\" width=\"12\" height=\"12\" rx=\"2\"/>"
			"<text class=\"ink\" x=\"%.0f\" y=\"%d\">",
			class, *x, *y - 10, *x + 17, *y);
		escape__xml(picture->out, words);
		fprintf(picture->out, " <tspan class=\"soft\">%s</tspan></text>\n",
			time_words(ns).text);
	}
	*x += width + 12;
}

/* Turns "[wait.lock]" into "waiting: lock". */
static void cause_words(const char *name, char *words, size_t size)
{
	const char *dot = strchr(name, '.');
	bool is_wait = !strncmp(name, "[wait.", 6), is_ready = !strncmp(name, "[ready.", 7);

	snprintf(words, size, "%s%.60s",
		 is_wait    ? "waiting: "
		 : is_ready ? "ready, no CPU: "
			    : "",
		 (is_wait || is_ready) && dot ? dot + 1 : name);
	if (strchr(words, ']'))
		*strrchr(words, ']') = '\0';
}

/* Returns where the next row begins. */
static int print_legend(struct picture *picture, int y, bool is_draft)
{
	double x = MARGIN;

	for (size_t i = 0; i < SVG_CODES; i++) {
		char words[64];

		svg_code__say(i, words, sizeof(words));
		if (picture->run_ns[i])
			print_item(picture, &x, &y, svg_code__class(i, SHADES - 1).text, words,
				   picture->run_ns[i], is_draft);
	}
	for (size_t i = 0; i < picture->cause_count; i++) {
		char class[24], words[100];

		snprintf(class, sizeof(class), "c%zu", i);
		cause_words(picture->causes[i].name, words, sizeof(words));
		print_item(picture, &x, &y, class, words, picture->causes[i].ns, is_draft);
	}
	return y + ROW;
}

/* Says what is shown, how much there is, and what is left out. */
static void print_words(const struct picture *picture)
{
	const struct profile *profile = picture->profile;
	size_t samples = profile->sums_of ? profile->sums_of : profile->sample_count;
	char left_out[LABEL_SIZE];
	time_t start = (time_t)(profile->start_unix_ns / 1000000000);
	char date[64] = "";
	struct tm parts;

	if (profile->start_unix_ns && gmtime_r(&start, &parts))
		strftime(date, sizeof(date), " from %Y-%m-%d %H:%M:%S UTC", &parts);
	fprintf(picture->out, "<text class=\"ink head\" x=\"%d\" y=\"28\">", MARGIN);
	print_fitting(profile->target, 90, picture->out);
	fprintf(picture->out,
		"</text>\n<text class=\"soft\" x=\"%d\" y=\"48\">%s%s, %s sample%s. The width of a "
		"frame is wall time, %s over all threads; the paler it is, the less of it ran."
		"</text>\n<text class=\"soft\" x=\"%d\" y=\"66\">",
		MARGIN, time_words(profile->end_ns - profile->start_ns).text, date,
		count_words(samples).text, samples == 1 ? "" : "s",
		time_words(picture->total_ns).text, MARGIN);
	if (profile->left_out_ns)
		fprintf(picture->out, "%s. ", label__left_out(profile, left_out));
	if (picture->narrow_count)
		fprintf(picture->out, "%s frame%s too narrow to show.",
			count_words(picture->narrow_count).text,
			picture->narrow_count == 1 ? " is" : "s are");
	fputs("</text>\n", picture->out);
}

static void print_picture(struct picture *picture)
{
	int top = print_legend(picture, 88, true);
	int height = top + ((int)picture->deepest + 1) * ROW + DETAILS_PX;
	FILE *out = picture->out;

	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\">\n<title>",
		WIDTH, height);
	escape__xml(out, picture->profile->target);
	fprintf(out, "</title>\n<style>\n%s", style);
	print_colours(picture);
	fputs("</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n", out);
	print_words(picture);
	print_legend(picture, 88, false);
	fprintf(out, "<svg id=\"frames\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">\n", MARGIN,
		top, PANE, ((int)picture->deepest + 1) * ROW);
	for (uint32_t node = 0; node != PROFILE_NONE; node = tree__next(picture->tree, node))
		if (!is_narrow(picture, &picture->tree->nodes[node]))
			print_frame(picture, node);
	fprintf(out,
		"</svg>\n<g id=\"details\" transform=\"translate(0,%d)\"><rect width=\"100%%\" "
		"height=\"26\"/><text class=\"ink\" x=\"%d\" y=\"17\"></text></g>\n"
		"<script><![CDATA[\n%s]]></script>\n</svg>\n",
		height - 26, MARGIN, script);
}

static int write_svg(const struct profile *profile, FILE *out)
{
	cleanup(tree__free_p) struct tree *tree = NULL;
	cleanup(picture__release) struct picture picture = { .profile = profile, .out = out };
	int err = tree__build(profile, true, &tree);

	if (err)
		return err;
	picture.tree = tree;
	picture.total_ns = tree->nodes[0].total_ns ? tree->nodes[0].total_ns : 1;
	picture.depths = calloc(tree->count, sizeof(*picture.depths));
	picture.lefts = calloc(tree->count, sizeof(*picture.lefts));
	if (!picture.depths || !picture.lefts)
		return -ENOMEM;
	measure(&picture);
	find_depth(&picture);
	print_picture(&picture);
	return ferror(out) ? -EIO : 0;
}

const struct exporter export_svg = {
	.name = "svg",
	.about = "a flame graph to open in a browser: zoom, search",
	.suffix = ".svg",
	.no_idle = true,
	.write = write_svg,
};
