/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "identity/pods.h"
#include "identity/service.h"

static struct pods_label labels[4];
static struct pods_container containers[2];

static struct service_facts none(void)
{
	return (struct service_facts) { "", "", false, "", "", "", "", "", "", "", "", NULL };
}

static struct pods_pod owned(const char *kind, const char *owner)
{
	return (struct pods_pod) {
		.uid = "u",
		.static_uid = "",
		.namespace_name = "shop",
		.name = "pod-1",
		.owner_kind = (char *)kind,
		.owner = (char *)owner,
		.labels = labels,
		.containers = containers,
	};
}

static void expect(const struct service_rules *rules, const struct service_facts *facts,
		   const char *service, const char *version)
{
	char got[SERVICE_TEXT_BYTES], got_version[SERVICE_TEXT_BYTES];

	service_rules__name(rules, facts, got, got_version);
	assert_string_equal(got, service);
	assert_string_equal(got_version, version);
}

static void owners_lose_their_hash(void **state)
{
	static const char *const rows[][3] = {
		{ "ReplicaSet", "web-7d4b9c6f8d", "web" },
		{ "ReplicaSet", "my-web-app-5c689d88bb", "my-web-app" },
		/* no hash: a vowel, too short, too long */
		{ "ReplicaSet", "web-frontend", "web-frontend" },
		{ "ReplicaSet", "web-7d4b9", "web-7d4b9" },
		{ "ReplicaSet", "web-7d4b9c6f8dbbb", "web-7d4b9c6f8dbbb" },
		{ "ReplicaSet", "web", "web" },
		{ "ReplicaSet", "-7d4b9c6f8d", "-7d4b9c6f8d" },
		{ "Job", "backup-28473920", "backup" },
		{ "Job", "migrate-2024", "migrate-2024" },
		{ "ReplicationController", "web-3", "web" },
		{ "StatefulSet", "postgres-0", "postgres-0" },
		{ "DaemonSet", "node-exporter", "node-exporter" },
		{ "Rollout", "web-7d4b9c6f8d", "web-7d4b9c6f8d" },
	};
	struct service_facts facts = none();

	facts.container = "main";
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pods_pod pod = owned(rows[i][0], rows[i][1]);

		facts.kubernetes = &pod;
		expect(NULL, &facts, rows[i][2], "");
	}
}

static void the_label_with_the_hash_decides(void **state)
{
	struct pods_pod pod = owned("ReplicaSet", "web-bbbbbbbb");
	struct service_facts facts = none();

	facts.kubernetes = &pod;
	labels[0] = (struct pods_label) { "pod-template-hash", "cccccccc" };
	pod.label_count = 1;
	expect(NULL, &facts, "web-bbbbbbbb", "");
	labels[0].value = "bbbbbbbb";
	expect(NULL, &facts, "web", "");
}

static void labels_come_before_owners_and_those_before_containers(void **state)
{
	struct pods_pod pod = owned("StatefulSet", "db");
	struct service_facts facts = none();

	facts.kubernetes = &pod;
	facts.container = "postgres";
	facts.unit = "inner.service";
	facts.process = "postmaster";
	labels[0] = (struct pods_label) { "app.kubernetes.io/name", "orders-db" };
	labels[1] = (struct pods_label) { "app.kubernetes.io/version", "16.4" };
	pod.label_count = 2;
	expect(NULL, &facts, "orders-db", "16.4");
	pod.label_count = 0;
	expect(NULL, &facts, "db", "");
	pod.owner = pod.owner_kind = "";
	expect(NULL, &facts, "postgres", "");
	facts.container = "";
	expect(NULL, &facts, "pod-1", "");
	containers[0] = (struct pods_container) { "", "scheduler", "", "" };
	pod.container_count = 1;
	expect(NULL, &facts, "scheduler", "");
	facts.kubernetes = NULL;
	facts.container_id = "4f2a0123456789abcdef0123456789abcdef";
	expect(NULL, &facts, "4f2a01234567", "");
	facts.container_id = "";
	expect(NULL, &facts, "inner", "");
	facts.unit = "";
	expect(NULL, &facts, "postmaster", "");
}

static void units_lose_type_and_instance(void **state)
{
	static const char *const rows[][2] = {
		{ "nginx.service", "nginx" },
		{ "php8.1-fpm.service", "php8.1-fpm" },
		{ "postgresql@15-main.service", "postgresql@*" },
		{ "getty@tty1.service", "getty@*" },
		{ "init.scope", "init" },
		{ "session-12.scope", "session-*" },
		{ "run-r0a1b2c3d4e5f60718293a4b5c6d7e8f9.service", "run-r*" },
		{ "run-u123.service", "run-u*" },
		{ ".service", ".service" },
		{ "@.service", "@" },
	};
	struct service_facts facts = none();

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		facts.unit = rows[i][0];
		expect(NULL, &facts, rows[i][1], "");
	}
	facts.is_session = true;
	facts.process = "bash";
	expect(NULL, &facts, "bash", "");
}

static void the_version_is_tag_then_digest_then_build_id(void **state)
{
	static const char *const rows[][3] = {
		{ "nginx:1.27.2", "x@sha256:abcdef0123456789", "1.27.2" },
		{ "registry:5000/team/web:v2@sha256:abcdef0123456789", "", "v2" },
		{ "registry:5000/team/web", "", "build" },
		{ "registry:5000/team/web", "web@sha256:abcdef0123456789", "sha256:abcdef012345" },
		{ "web:latest", "web@sha256:abcdef0123456789", "sha256:abcdef012345" },
		{ "web@sha256:abcdef0123456789", "", "sha256:abcdef012345" },
		{ "sha256:abcdef0123456789", "", "sha256:abcdef012345" },
		{ "", "", "build" },
		{ ":", "", "build" },
		{ "/", "", "build" },
		{ "@", "", "build" },
	};
	struct service_facts facts = none();

	facts.build_id = "build";
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		facts.image = rows[i][0];
		facts.image_id = rows[i][1];
		expect(NULL, &facts, "", rows[i][2]);
	}
}

static struct service_rules *rules_of(const char *const *lines)
{
	struct service_rules *rules = NULL;
	char error[SERVICE_ERROR_BYTES] = "";

	assert_int_equal(service_rules__new(&rules), 0);
	for (; *lines; lines++)
		if (service_rules__add(rules, *lines, error))
			fail_msg("'%s': %s", *lines, error);
	return rules;
}

static void the_first_rule_that_matches_wins(void **state)
{
	static const char *const lines[] = {
		"unit=nginx*.service process=nginx -> service=edge",
		"\tunit=nginx*.service\t->  version=v1 service=edge-{process}",
		"label.team=* namespace=shop -> service={label.team}/{container} "
		"version={label.build}",
		"cgroup=/batch/* -> service=batch",
		"label.absent=* -> service=never",
		"image=registry/*:2 -> service={label.absent}",
		"image=registry/*:[0-9] -> service=image",
		NULL
	};
	struct service_rules *rules = rules_of(lines);
	struct pods_pod pod = owned("", "");
	struct service_facts facts = none();

	facts.unit = "nginx-a.service";
	facts.process = "nginx";
	expect(rules, &facts, "edge", "");
	facts.process = "sh";
	expect(rules, &facts, "edge-sh", "v1");
	facts.unit = "cron.service";
	expect(rules, &facts, "cron", "");
	facts.cgroup = "/batch/a/b";
	expect(rules, &facts, "batch", "");
	facts.cgroup = "";
	/* The rule before would give an empty name. */
	facts.image = "registry/x:2";
	expect(rules, &facts, "image", "2");
	labels[0] = (struct pods_label) { "team", "pay\x01ments" };
	labels[1] = (struct pods_label) { "build", "" };
	pod.label_count = 2;
	facts.kubernetes = &pod;
	facts.namespace_name = "shop";
	facts.container = "api";
	expect(rules, &facts, "pay?ments/api", "2");
	service_rules__free(rules);
}

static void rules_say_which_labels_they_need(void **state)
{
	static const char *const lines[] = {
		"label.team=* label.team=a -> service={label.product}-{label.team}", NULL
	};
	static const char *const wanted[] = { "app.kubernetes.io/name", "app.kubernetes.io/version",
					      "pod-template-hash", "team", "product" };
	struct service_rules *rules = rules_of(lines);
	const char *const *list = service_rules__labels(rules);

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++)
		assert_string_equal(list[i], wanted[i]);
	assert_null(list[sizeof(wanted) / sizeof(*wanted)]);
	service_rules__free(rules);
}

static void a_bad_rule_is_explained(void **state)
{
	static const char *const rows[][2] = {
		{ "", "no '->' (FIELD=GLOB -> service=TEXT)" },
		{ "unit=a", "no '->' (FIELD=GLOB -> service=TEXT)" },
		{ "unit=a -> ", "no service=TEXT after '->'" },
		{ "-> service=a", "no FIELD=GLOB before '->'" },
		{ "unit=a -> version=2", "no service=TEXT after '->'" },
		{ "unit=a -> service=", "no text after 'service='" },
		{ "unit= -> service=a", "no pattern after 'unit=' ('*' matches any text)" },
		{ "unti=a -> service=a", "unknown field 'unti' (did you mean 'unit'?)" },
		{ "label.=a -> service=a",
		  "unknown field 'label.' (cgroup, unit, namespace, pod, container, image, process "
		  "or label.NAME)" },
		{ "unit -> service=a", "'unit' is not FIELD=GLOB" },
		{ "unit=a -> service=a service=b", "'service' twice" },
		{ "unit=a -> service=a -> version=b", "'->' twice" },
		{ "unit=a -> service=a unit=b",
		  "'unit=b' after '->' is neither service=TEXT nor version=TEXT" },
		{ "unit=a -> service={unit", "'{' without '}' in '{unit'" },
		{ "unit=a -> service={comm}",
		  "unknown field 'comm' (cgroup, unit, namespace, pod, container, image, process "
		  "or label.NAME)" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct service_rules *rules = NULL;
		char error[SERVICE_ERROR_BYTES] = "";

		assert_int_equal(service_rules__new(&rules), 0);
		assert_int_equal(service_rules__add(rules, rows[i][0], error), -EINVAL);
		assert_string_equal(error, rows[i][1]);
		service_rules__free(rules);
	}
}

static void the_number_of_rules_is_bounded(void **state)
{
	struct service_rules *rules = NULL;
	char error[SERVICE_ERROR_BYTES] = "";

	assert_int_equal(service_rules__new(&rules), 0);
	for (int i = 0; i < SERVICE_MOST_RULES; i++)
		assert_int_equal(service_rules__add(rules, "unit=a -> service=b", error), 0);
	assert_int_equal(service_rules__add(rules, "unit=a -> service=b", error), -E2BIG);
	assert_string_equal(error, "more than 1024 rules");
	service_rules__free(rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owners_lose_their_hash),
		cmocka_unit_test(the_label_with_the_hash_decides),
		cmocka_unit_test(labels_come_before_owners_and_those_before_containers),
		cmocka_unit_test(units_lose_type_and_instance),
		cmocka_unit_test(the_version_is_tag_then_digest_then_build_id),
		cmocka_unit_test(the_first_rule_that_matches_wins),
		cmocka_unit_test(rules_say_which_labels_they_need),
		cmocka_unit_test(a_bad_rule_is_explained),
		cmocka_unit_test(the_number_of_rules_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
