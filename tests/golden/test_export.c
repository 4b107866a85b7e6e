/* The recording with stacks in every format, to the byte. */
#include "../harness.h"

#include <stdio.h>
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
		       .no_idle = true, .from_ns = 5 * SECOND, .to_ns = 25 * SECOND });
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

static void pprof(void **state)
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
	golden__expect("export.pprof.txt", text);
	free(text);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded), cmocka_unit_test(folded_of_a_cut_without_idle_waits),
		cmocka_unit_test(pprof),  cmocka_unit_test(speedscope),
		cmocka_unit_test(svg),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
