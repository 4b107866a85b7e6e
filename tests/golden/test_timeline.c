/* The recording with stacks in the formats that have a time axis, to the byte. */
#include "../harness.h"

#include <stdio.h>

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

static void expect(const char *name, const struct exporter *exporter,
		   const struct profile_options *more)
{
	struct profile_options options = more ? *more : (struct profile_options) {};
	struct profile *profile = NULL;
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);

	options.accounts = exporter->accounts;
	assert_int_equal(profile__load(path, &options, &profile), 0);
	assert_int_equal(exporter->write(profile, out), 0);
	assert_int_equal(fclose(out), 0);
	profile__free(profile);
	golden__expect(name, bytes);
	free(bytes);
}

static void firefox(void **state)
{
	expect("export.firefox.json", &export_firefox, NULL);
}

static void firefox_of_a_cut(void **state)
{
	expect("export-cut.firefox.json", &export_firefox,
	       &(struct profile_options) { .from_ns = 5 * SECOND, .to_ns = 8 * SECOND });
}

static void chrome(void **state)
{
	expect("export.chrome.json", &export_chrome, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(firefox),
		cmocka_unit_test(firefox_of_a_cut),
		cmocka_unit_test(chrome),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
