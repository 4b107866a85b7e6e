/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recording with stacks in every format, to the byte. */
#include "../harness.h"

#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include "export/exporter.h"
#include "golden.h"
#include "sample.h"

static char *path;

static int set_up(void **state)
{
	path = sample__path();
	sample__write_with_stacks(path);
	return 0;
}

static int tear_down(void **state)
{
	sample__remove(path);
	return 0;
}

/* What an exporter writes. */
static char *export(const struct exporter *exporter, const struct profile_options *more,
		    size_t *ret_size)
{
	struct profile_options options = more ? *more : (struct profile_options) {};
	struct profile *profile = NULL;
	char *bytes = NULL;
	FILE *out = open_memstream(&bytes, ret_size);

	options.accounts = exporter->accounts;
	assert_int_equal(profile__load(path, &options, &profile), 0);
	assert_int_equal(exporter->write(profile, out), 0);
	assert_int_equal(fclose(out), 0);
	profile__free(profile);
	return bytes;
}

static void expect(const char *name, const struct exporter *exporter,
		   const struct profile_options *options)
{
	size_t size = 0;
	char *bytes = export(exporter, options, &size);

	golden__expect(name, bytes);
	free(bytes);
}

static void folded(void **state)
{
	expect("export.folded", &export_folded, NULL);
}

static void folded_of_a_cut_without_idle_waits(void **state)
{
	expect("export-cut.folded", &export_folded,
	       &(struct profile_options) {
		       .no_idle = true, .scope.from.ns = 5 * SECOND, .scope.to.ns = 25 * SECOND });
}

static void speedscope(void **state)
{
	expect("export.speedscope.json", &export_speedscope,
	       &(struct profile_options) { .no_idle = true });
}

static void svg(void **state)
{
	expect("export.svg", &export_svg, &(struct profile_options) { .no_idle = true });
}

static void expect_pprof(const char *name)
{
	static unsigned char plain[65536];
	size_t size = 0;
	char *bytes = export(&export_pprof, NULL, &size), *text;
	z_stream stream = { .next_in = (unsigned char *)bytes,
			    .avail_in = (unsigned int)size,
			    .next_out = plain,
			    .avail_out = sizeof(plain) };

	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	text = golden__proto_text(plain, stream.total_out);
	inflateEnd(&stream);
	golden__expect(name, text);
	free(text);
	free(bytes);
}

static void pprof(void **state)
{
	expect_pprof("export.pprof.txt");
}

static void pprof_tells_requests_by_labels(void **state)
{
	char *whole = path;

	path = sample__path();
	sample__write_with_requests(path);
	expect_pprof("export-windows.pprof.txt");
	sample__remove(path);
	path = whole;
}

/* What `gapless export ARGUMENTS` says and prints, with $R for the recording. */
static void says(const char *arguments, int status, const char *expected)
{
	char command[1024], text[8192] = "";
	const char *gapless = getenv("GAPLESS");
	FILE *out;
	int result;

	if (!gapless) {
		print_message("# skip: GAPLESS is not set\n");
		skip();
	}
	snprintf(command, sizeof(command), "R='%s'; '%s' export %s 2>&1", path, gapless, arguments);
	out = popen(command, "re");
	assert_non_null(out);
	text[fread(text, 1, sizeof(text) - 1, out)] = '\0';
	result = pclose(out);
	assert_string_equal(text, expected);
	assert_int_equal(WEXITSTATUS(result), status);
}

static void an_unknown_format_names_the_known_ones(void **state)
{
	char list[512] = "gapless: error: -f takes one of: ", text[1024];

	for (size_t i = 0; exporters[i]; i++) {
		strcat(list, i ? ", " : "");
		strcat(list, exporters[i]->name);
	}
	strcat(list, "\n");
	says("$R", 2, list);
	snprintf(text, sizeof(text),
		 "gapless: error: unknown format 'foldet'; did you mean 'folded'?\n%s", list);
	says("-f foldet $R", 2, text);
}

static void a_file_is_named_after_the_recording(void **state)
{
	char made[512], text[1024];
	struct stat info;

	snprintf(made, sizeof(made), "%.*s.pb.gz", (int)(strlen(path) - strlen(".gapless")), path);
	snprintf(text, sizeof(text), "gapless: pprof in '%s'\n", made);
	says("-f pprof $R", 0, text);
	assert_int_equal(stat(made, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	assert_int_equal(unlink(made), 0);
}

static void folded_goes_to_standard_output_and_tells_what_it_leaves_out(void **state)
{
	says("-f folded -o /dev/null $R", 0,
	     "gapless: folded in '/dev/null'\n"
	     "gapless: without 19.8 s waiting for an event or a time [--idle shows it]\n");
	says("-f folded --idle --from 20.39s --to 20.41s $R", 0,
	     "app;main;[vdso]+0xc40 100000000\n");
}

static void emptiness_and_failures_explain_themselves(void **state)
{
	char *plain = sample__path(), text[1024], arguments[600];

	sample__write(plain);
	snprintf(arguments, sizeof(arguments), "-f svg '%s'", plain);
	snprintf(text, sizeof(text),
		 "gapless: error: '%s': it has no stacks: recorded with --no-stacks or by an older "
		 "gapless, or nothing ran [the times are there: 'gapless report']\n",
		 plain);
	says(arguments, 1, text);
	sample__remove(plain);
	says("-f folded --to 0 $R", 2,
	     "gapless export: --to 0 leaves nothing\nTry `gapless export --help' or `gapless "
	     "export --usage' for more information.\n");
	says("-f svg /nonexistent", 1,
	     "gapless: error: '/nonexistent': there is no such recording [make one with 'sudo "
	     "gapless record']\n");
	says("-f svg -o /nonexistent/x.svg $R", 1,
	     "gapless: error: cannot write '/nonexistent/x.svg': No such file or directory\n");
	snprintf(text, sizeof(text),
		 "gapless: error: '%s': it has no requests or calls that were kept [record at "
		 "level full, or with --window]\n",
		 path);
	says("-f otlp-traces -o /dev/full $R", 1, text);
	for (size_t i = 0; exporters[i]; i++) {
		if (exporters[i]->windows)
			continue;
		snprintf(arguments, sizeof(arguments), "-f %s -o /dev/full $R", exporters[i]->name);
		says(arguments, 1,
		     "gapless: error: cannot write '/dev/full': No space left on device\n");
	}
	snprintf(text, sizeof(text),
		 "gapless: error: '%s' is a recording itself [-o another name]\n", path);
	says("-f svg -o $R $R", 1, text);
	snprintf(text, sizeof(text), "gapless: error: '%s': no stacks between --from and --to\n",
		 path);
	says("-f folded --from 20001ms --to 20002ms $R", 1, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded),
		cmocka_unit_test(folded_of_a_cut_without_idle_waits),
		cmocka_unit_test(pprof),
		cmocka_unit_test(pprof_tells_requests_by_labels),
		cmocka_unit_test(speedscope),
		cmocka_unit_test(svg),
		cmocka_unit_test(an_unknown_format_names_the_known_ones),
		cmocka_unit_test(a_file_is_named_after_the_recording),
		cmocka_unit_test(folded_goes_to_standard_output_and_tells_what_it_leaves_out),
		cmocka_unit_test(emptiness_and_failures_explain_themselves),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
