/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "agent/config.h"

static int parse(const char *text, struct config *ret, struct config_error *error)
{
	return config__parse(text, strlen(text), ret, error);
}

static void an_empty_file_has_the_defaults(void **state)
{
	struct config_error error;
	struct config config;

	assert_int_equal(parse("", &config, &error), 0);
	assert_string_equal(config.metrics.listen, "127.0.0.1:9474");
	assert_int_equal(config.interval_ns, 10000000000);
	assert_int_equal(config.metrics.detail, CONFIG_NODE);
	assert_int_equal(config.store.spool_bytes, 64 << 20);
	assert_int_equal(config.identity.rules.count, 0);
	assert_int_equal(config.stacks.probability_ppm, 10000);
	assert_false(config.metrics.syscalls);
	config__release(&config);
}

static void values_comments_and_rules_are_read(void **state)
{
	struct config_error error;
	struct config config;

	assert_int_equal(parse("# a comment\n"
			       "\n"
			       "  metrics.detail:   service  # for the team\n"
			       "metrics.syscalls: true\r\n"
			       "host: \"a#b\"\n"
			       "identity.rule: unit=a* -> service=a\n"
			       "identity.rule: unit=b* -> service=b\n"
			       "interval: 20s",
			       &config, &error),
			 0);
	assert_int_equal(config.metrics.detail, CONFIG_SERVICE);
	assert_true(config.metrics.syscalls);
	assert_string_equal(config.host, "a#b");
	assert_int_equal(config.identity.rules.count, 2);
	assert_string_equal(config.identity.rules.text[1], "unit=b* -> service=b");
	assert_int_equal(config.identity.rules.line[1], 7);
	assert_int_equal(config.interval_ns, 20000000000);
	config__release(&config);
}

static void refused(const char *text, unsigned line, const char *words)
{
	struct config_error error = {};
	struct config config = { .interval_ns = 7 };

	assert_int_equal(parse(text, &config, &error), -EINVAL);
	assert_int_equal(error.line, line);
	if (!strstr(error.message, words))
		fail_msg("'%s' lacks '%s'", error.message, words);
	assert_int_equal(config.interval_ns, 7);
}

static void a_wrong_line_is_refused_with_its_number(void **state)
{
	refused("host: a\nhots: b\n", 2, "did you mean 'host'");
	refused("\n\nlevel: high\n", 3, "ledger, signals, stacks, full");
	refused("host: a\nhost: b\n", 2, "set twice");
	refused("interval: soon\n", 1, "duration");
	refused("interval: 1ms\n", 1, "out of range");
	refused("interval: 7s\n", 1, "not a multiple");
	refused("limits.rows: -1\n", 1, "number");
	refused("store.spool_bytes: 64X\n", 1, "size");
	refused("metrics.syscalls: yes\n", 1, "neither true nor false");
	refused("state_directory: here\n", 1, "absolute");
	refused("stacks.probability: 1.1\n", 1, "fraction");
	refused("stacks.probability: -0.1\n", 1, "fraction");
	refused("stacks.probability: 1 %\n", 1, "fraction");
	refused("stacks.probability: nan\n", 1, "fraction");
	refused("stacks.probability: \n", 1, "fraction");
	refused("stacks.probability: 0.1.1\n", 1, "fraction");
	refused("just words\n", 1, "key: value");
	refused("host:a\n", 1, "key: value");
}

static void variables_of_the_environment_are_replaced_in_texts_and_paths(void **state)
{
	static const char text[] = "host: node-${GAPLESS_TEST_A}${GAPLESS_TEST_B}\n"
				   "tenant: ${GAPLESS_TEST_A\n"
				   "cluster: $GAPLESS_TEST_A ${lower} ${}\n"
				   "metrics.token_file: ${GAPLESS_TEST_B}\n";
	struct config_error error = {};
	struct config config;

	setenv("GAPLESS_TEST_A", "${HOME}", 1);
	setenv("GAPLESS_TEST_B", "/run/x", 1);
	assert_int_equal(config__parse(text, strlen(text), &config, &error), 0);
	assert_string_equal(config.host, "node-${HOME}/run/x");
	assert_string_equal(config.tenant, "${GAPLESS_TEST_A");
	assert_string_equal(config.cluster, "$GAPLESS_TEST_A ${lower} ${}");
	assert_string_equal(config.metrics.token_file, "/run/x");
	config__release(&config);
	refused("host: a\ntenant: ${GAPLESS_TEST_NONE}\n", 2, "no variable 'GAPLESS_TEST_NONE'");
	setenv("GAPLESS_TEST_B", "run/x", 1);
	refused("metrics.key: ${GAPLESS_TEST_B}\n", 1, "not an absolute path");
	unsetenv("GAPLESS_TEST_A");
	unsetenv("GAPLESS_TEST_B");
}

static void what_is_printed_can_be_read_again(void **state)
{
	struct config_error error;
	struct config config, again;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(parse("tenant: t\nidentity.rule: unit=a -> service=b\nlevel: stacks\n"
			       "stacks.probability: 0.000125\n",
			       &config, &error),
			 0);
	config__print(out, &config);
	fclose(out);
	assert_int_equal(config__parse(text, size, &again, &error), 0);
	assert_string_equal(again.tenant, "t");
	assert_int_equal(again.level, CONFIG_STACKS);
	assert_int_equal(again.stacks.probability_ppm, 125);
	assert_int_equal(again.identity.rules.count, 1);
	assert_int_equal(again.budget.memory_bytes, config.budget.memory_bytes);
	config__release(&again);
	config__release(&config);
	free(text);
}

static void a_file_that_is_too_long_or_no_text_is_refused(void **state)
{
	struct config_error error = { .line = 9 };
	struct config config;
	char *text = calloc(1, (1 << 20) + 2);

	memset(text, '#', (1 << 20) + 1);
	assert_int_equal(config__parse(text, (1 << 20) + 1, &config, &error), -EINVAL);
	assert_int_equal(error.line, 0);
	assert_int_equal(config__parse("host: \0x", 8, &config, &error), -EINVAL);
	assert_int_equal(config__read("/nonexistent", &config, &error), -ENOENT);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_file_has_the_defaults),
		cmocka_unit_test(values_comments_and_rules_are_read),
		cmocka_unit_test(a_wrong_line_is_refused_with_its_number),
		cmocka_unit_test(variables_of_the_environment_are_replaced_in_texts_and_paths),
		cmocka_unit_test(what_is_printed_can_be_read_again),
		cmocka_unit_test(a_file_that_is_too_long_or_no_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
