/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/redact.h"

static void each_becomes(const char *const (*cases)[2], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char *line = redact__line(cases[i][0], REDACT_SECRETS);

		assert_non_null(line);
		assert_string_equal(line, cases[i][1]);
		free(line);
	}
}
#define EACH_BECOMES(cases) each_becomes(cases, sizeof(cases) / sizeof(*(cases)))

static void values_of_options_are_taken_out(void **state)
{
	static const char *const cases[][2] = {
		{ "psql --password=s3cret db", "psql --password=[redacted] db" },
		{ "psql --password s3cret db", "psql --password [redacted] db" },
		{ "x --passwd=a --pwd=b --token c --secret=d",
		  "x --passwd=[redacted] "
		  "--pwd=[redacted] --token [redacted] --secret=[redacted]" },
		{ "x --key=a --api-key b --auth=c --credential d",
		  "x --key=[redacted] "
		  "--api-key [redacted] --auth=[redacted] --credential [redacted]" },
		{ "x --db-password=a --auth-token=b --apiKey=c",
		  "x --db-password=[redacted] "
		  "--auth-token=[redacted] --apiKey=[redacted]" },
		{ "x --PASSWORD=a --Api_Key b", "x --PASSWORD=[redacted] --Api_Key [redacted]" },
		{ "java -Dspring.datasource.password=x -jar a",
		  "java "
		  "-Dspring.datasource.password=[redacted] -jar a" },
		{ "x --password   s3cret", "x --password   [redacted]" },
		{ "x --password=--odd y", "x --password=[redacted] y" },
		{ "x --password=a=b&c y", "x --password=[redacted] y" },
		{ "keytool -storepass x -password y z",
		  "keytool -storepass x -password [redacted] z" },
		{ "java '-password' 'y z' -jar a", "java '-password' [redacted] -jar a" },
		{ "x --token -Ab3 y", "x --token [redacted] y" },
		{ "x --token -5 y", "x --token [redacted] y" },
	};

	EACH_BECOMES(cases);
}

static void words_of_the_environment_are_too(void **state)
{
	static const char *const cases[][2] = {
		{ "env PGPASSWORD=x psql", "env PGPASSWORD=[redacted] psql" },
		{ "MYSQL_PWD=x", "MYSQL_PWD=[redacted]" },
		{ "AWS_SECRET_ACCESS_KEY=x GITHUB_TOKEN=y sh", "AWS_SECRET_ACCESS_KEY=[redacted] "
							       "GITHUB_TOKEN=[redacted] sh" },
		{ "DB_PASS=x password=y", "DB_PASS=[redacted] password=[redacted]" },
		{ "env PWD=/home/a OLDPWD=/tmp", "env PWD=/home/a OLDPWD=/tmp" },
	};

	EACH_BECOMES(cases);
}

static void quotes_hold_a_value_together(void **state)
{
	static const char *const cases[][2] = {
		{ "x --password 'my secret' y", "x --password [redacted] y" },
		{ "x --password=\"my \\\" secret\" y", "x --password=[redacted] y" },
		{ "x '--password=my secret' y", "x '--password=[redacted]' y" },
		{ "x '--password=it'\\''s mine' y", "x '--password=[redacted]' y" },
		{ "x --password=a'b c'd y", "x --password=[redacted] y" },
		{ "x --password=a\\ b y", "x --password=[redacted] y" },
		{ "sh -c 'mysql --password=x db'", "sh -c 'mysql --password=[redacted] db'" },
		{ "sh -c 'mysql --password x'", "sh -c 'mysql --password [redacted]'" },
		{ "sh -c 'x --password '\\''my secret'\\'' y' z",
		  "sh -c 'x --password [redacted] y' z" },
		{ "sh -c 'x --token \"a b\" y' z", "sh -c 'x --token [redacted] y' z" },
		{ "sh -c 'PGPASSWORD=x psql' y", "sh -c 'PGPASSWORD=[redacted]' y" },
		{ "echo don't --password 'x y' z", "echo don't --password [redacted] z" },
		/* Cut off by the recorder. */
		{ "x --password='abc def…", "x --password=[redacted]" },
		{ "x --password abc…", "x --password [redacted]" },
	};

	EACH_BECOMES(cases);
}

static void addresses_lose_their_secrets(void **state)
{
	static const char *const cases[][2] = {
		{ "curl https://bob:s3cret@host/path", "curl https://bob:[redacted]@host/path" },
		{ "x postgres://u:p@ss@host:5432/db", "x postgres://u:[redacted]@host:5432/db" },
		{ "curl 'https://h/a?token=x&user=bob&key=y#top' z",
		  "curl 'https://h/a?token=[redacted]&user=bob&key=[redacted]#top' z" },
		{ "curl https://h/?access_token=x", "curl https://h/?access_token=[redacted]" },
		{ "x --url=redis://:pw@h", "x --url=redis://:[redacted]@h" },
		{ "curl https://host:8080/a@b", "curl https://host:8080/a@b" },
		{ "git clone ssh://git@host/x", "git clone ssh://git@host/x" },
		{ "x ftp://u:@h", "x ftp://u:@h" },
	};

	EACH_BECOMES(cases);
}

static void headers_and_json_do_too(void **state)
{
	static const char *const cases[][2] = {
		{ "curl -H 'Authorization: Bearer abc' u",
		  "curl -H 'Authorization: [redacted]' u" },
		{ "curl -H Authorization: Bearer abc u", "curl -H Authorization: [redacted] u" },
		{ "curl -H 'X-Api-Key: abc' u", "curl -H 'X-Api-Key: [redacted]' u" },
		{ "curl '--header=X-Api-Key: a b' u", "curl '--header=X-Api-Key: [redacted]' u" },
		{ "curl -H 'Authorization:Bearer abc' u", "curl -H 'Authorization:[redacted]' u" },
		{ "curl -H Authorization:Bearer abc u", "curl -H Authorization:[redacted] u" },
		{ "http h Proxy-Authorization:abc x", "http h Proxy-Authorization:[redacted] x" },
		{ "curl -H X-Api-Key:abc u", "curl -H X-Api-Key:[redacted] u" },
		{ "curl -HApi-Key:abc u", "curl -HApi-Key:[redacted] u" },
		{ "curl -H Api-Key:abc u", "curl -H Api-Key:[redacted] u" },
		{ "curl --header=Token:abc u", "curl --header=Token:[redacted] u" },
		{ "sh -c 'curl -H X-Api-Key:abc u' y", "sh -c 'curl -H X-Api-Key:[redacted]' y" },
		{ "sh -c 'curl -H \"X-Api-Key:abc\" u' y",
		  "sh -c 'curl -H \"X-Api-Key:[redacted]\" u' y" },
		{ "curl -d '{ \"password\" : \"x y\" }'",
		  "curl -d '{ \"password\" : [redacted] }'" },
		{ "{ \"password\" : \"x y\", \"b\": 1 }",
		  "{ \"password\" : [redacted], \"b\": 1 }" },
		{ "curl -d '{\"user\":\"b\",\"password\":\"x y\"}'",
		  "curl -d '{\"user\":\"b\",\"password\":[redacted]}'" },
	};

	EACH_BECOMES(cases);
}

static void what_is_no_secret_stays(void **state)
{
	static const char *const lines[] = {
		"",
		" ",
		"'",
		"\"",
		"--",
		"=",
		"://",
		"--password",
		"--password=",
		"--password ''",
		"x --keyboard us --tokenize yes --monkey 1 --author me --passthrough 2",
		"x --password --user=bob",
		"x --password -v --token -",
		"x --password -v",
		"curl -H X-Api-Key:",
		"curl -H 'X-Api-Key:' u",
		"curl http://x-token:8080/ http://auth:80",
		"x --key-file /etc/k.pem --password-file=/run/p",
		"psql --no-password db",
		"docker login --password-stdin registry",
		"docker run auth:latest key token",
		"ls secret password",
		"x -p 80 -k v",
		"KEYMAP=us COMPASS=n SSH_AUTH_SOCK=/run/a",
		"x --max-tokens 10",
		"grüße --größe=5 日本 …",
		"x 'a b' \"c d\" e\\ f",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		each_becomes(&(const char *const[2]) { lines[i], lines[i] }, 1);
}

static void utf8_is_kept_around_a_secret(void **state)
{
	static const char *const cases[][2] = {
		{ "größe --password=pässwörd 日本", "größe --password=[redacted] 日本" },
		{ "x --token 日本 …", "x --token [redacted] …" },
	};

	EACH_BECOMES(cases);
}

static void more_or_less_can_be_asked_for(void **state)
{
	static const char line[] = "x --password=y";
	char *full = redact__line(line, REDACT_NOTHING),
	     *unsaid = redact__line(line, REDACT_DEFAULT);
	char *none = redact__line(line, REDACT_ALL_ARGS);

	assert_string_equal(full, line);
	assert_string_equal(unsaid, line);
	assert_string_equal(none, "");
	free(full);
	free(unsaid);
	free(none);
}

static void fields_are(const char *fields, enum redact_args how, const char *expected)
{
	char *text = redact__fields(fields, how);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void fields_of_events_are_changed_where_they_must(void **state)
{
	static const char plain[] = "{ \"pid\": 7,  \"args\": \"a b\" }";
	static const char secret[] =
		"{\"pid\":7,\"file\":\"/bin/x\",\"args\":\"x --token \\\"a b\\\"\"}";

	fields_are(plain, REDACT_SECRETS, plain);
	fields_are(secret, REDACT_NOTHING, secret);
	fields_are(secret, REDACT_SECRETS,
		   "{\"pid\":7,\"file\":\"/bin/x\",\"args\":\"x --token [redacted]\"}");
	fields_are(secret, REDACT_ALL_ARGS, "{\"pid\":7,\"file\":\"/bin/x\",\"args\":null}");
	fields_are("no json --token x", REDACT_SECRETS, "no json --token [redacted]");
	fields_are("[\"args\"]", REDACT_ALL_ARGS, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_options_are_taken_out),
		cmocka_unit_test(words_of_the_environment_are_too),
		cmocka_unit_test(quotes_hold_a_value_together),
		cmocka_unit_test(addresses_lose_their_secrets),
		cmocka_unit_test(headers_and_json_do_too),
		cmocka_unit_test(what_is_no_secret_stays),
		cmocka_unit_test(utf8_is_kept_around_a_secret),
		cmocka_unit_test(more_or_less_can_be_asked_for),
		cmocka_unit_test(fields_of_events_are_changed_where_they_must),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
