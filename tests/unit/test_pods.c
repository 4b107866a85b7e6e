/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>

#include "identity/pods.h"
#include "kubernetes.h"

static const char *const labels[] = { "app.kubernetes.io/name", "app.kubernetes.io/version",
				      "pod-template-hash", "tier", NULL };

/* `step` bytes at once. */
static int read_text(const char *text, size_t size, size_t step, struct pods **ret)
{
	struct pods_reader *reader = NULL;
	int err = pods_reader__new(labels, &reader);

	assert_int_equal(err, 0);
	for (size_t at = 0; !err && at < size; at += step)
		err = pods_reader__feed(reader, text + at, size - at < step ? size - at : step);
	if (!err)
		err = pods_reader__finish(reader, ret);
	pods_reader__free(reader);
	return err;
}

static void expect_web(const struct pods *pods)
{
	const struct pods_container *container = NULL;
	const struct pods_pod *pod = pods__find(pods, "", WEB_ID, &container);

	assert_non_null(pod);
	assert_non_null(container);
	assert_string_equal(pod->namespace_name, "shop");
	assert_string_equal(pod->name, "web-7d4b9c6f8d-x2x5k");
	assert_string_equal(pod->owner_kind, "ReplicaSet");
	assert_string_equal(pod->owner, "web-7d4b9c6f8d");
	assert_int_equal(pod->container_count, 3);
	assert_string_equal(container->name, "nginx");
	assert_string_equal(container->image, "nginx:1.27.2");
	assert_string_equal(container->image_id, "docker.io/library/nginx@sha256:" DIGEST);
	assert_string_equal(pods__label(pod, "tier"), "front");
	/* Nobody asked for it. */
	assert_null(pods__label(pod, "app"));
}

static void an_answer_has_pods_containers_and_wanted_labels(void **state)
{
	const struct pods_container *container;
	struct pods *pods = NULL;

	assert_int_equal(read_text(KUBELET_PODS, strlen(KUBELET_PODS), SIZE_MAX / 2, &pods), 0);
	assert_int_equal(pods__count(pods), 3);
	assert_int_equal(pods__skipped(pods), 0);
	expect_web(pods);
	container = NULL;
	assert_non_null(pods__find(pods, CRON_UID, CRON_ID, &container));
	assert_string_equal(container->name, "main");
	/* A container that is not in the status, of a pod that is known. */
	assert_non_null(pods__find(pods, STATIC_ID, WEB_UID, &container));
	assert_null(container);
	assert_null(pods__find(pods, "unknown", "unknown", &container));
	assert_null(pods__find(pods, "", "", &container));
	pods__free(pods);
}

static void it_does_not_matter_where_the_answer_is_cut_into_pieces(void **state)
{
	for (size_t step = 1; step < 40; step += 3) {
		struct pods *pods = NULL;

		assert_int_equal(read_text(KUBELET_PODS, strlen(KUBELET_PODS), step, &pods), 0);
		assert_int_equal(pods__count(pods), 3);
		expect_web(pods);
		pods__free(pods);
	}
}

static void a_copy_of_a_static_pod_is_found_by_its_hash(void **state)
{
	static const char text[] = KUBELET_LIST(
		"{\"metadata\":{\"name\":\"s\",\"uid\":\"" MIRROR "\",\"annotations\":{"
		"\"kubernetes.io/config.hash\":\"" STATIC_ID "\"}}}");
	const struct pods_container *container;
	struct pods *pods = NULL;

	assert_int_equal(read_text(text, strlen(text), 1000, &pods), 0);
	assert_non_null(pods__find(pods, STATIC_ID, "", &container));
	assert_non_null(pods__find(pods, MIRROR, "", &container));
	pods__free(pods);
}

static void an_incomplete_answer_is_refused(void **state)
{
	struct pods *pods = (struct pods *)(uintptr_t)1;

	/* Without the final newline and bracket, up to all of it. */
	for (size_t length = 0; length < strlen(KUBELET_PODS) - 1; length += 7)
		assert_int_equal(read_text(KUBELET_PODS, length, 4096, &pods), -EBADMSG);
	assert_ptr_equal(pods, (struct pods *)(uintptr_t)1);
}

static void what_is_not_a_list_of_pods_is_refused(void **state)
{
	static const char *const texts[] = { "",
					     "null",
					     "[]",
					     "{}",
					     "<html>Unauthorized</html>",
					     "Unauthorized",
					     "{\"kind\":\"Status\",\"code\":401}",
					     "{\"metadata\":{\"items\":[]}}",
					     "{\"items\":[]}}",
					     "{\"items\":[]}{\"items\":[]}",
					     "{\"items\":[]} x",
					     "}",
					     "{\"kind\":\"items\",\"list\":[]}" };
	struct pods *pods = NULL;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		print_message("# %s\n", texts[i]);
		assert_int_equal(read_text(texts[i], strlen(texts[i]), 1000, &pods), -EBADMSG);
	}
	assert_null(pods);
}

static void odd_lists_are_read_as_far_as_they_go(void **state)
{
	static const struct {
		const char *text;
		size_t count;
		uint64_t skipped;
	} rows[] = {
		{ "{\"items\":null}", 0, 0 },
		{ "{\"items\":[]}", 0, 0 },
		{ " {\"items\" : [ ] }\r\n", 0, 0 },
		{ "{\"items\":[1,\"x\",null,[{\"metadata\":{\"uid\":\"a\"}}]]}", 0, 0 },
		{ "{\"items\":[{}]}", 0, 1 },
		{ "{\"items\":[{\"metadata\":7,\"spec\":[],\"status\":\"x\"}]}", 0, 1 },
		{ "{\"items\":[{\"metadata\":{\"uid\":\"a\\u0000\"}}]}", 0, 1 },
		{ "{\"items\":[{\"metadata\":{\"uid\":\"a\"}},{nonsense}]}", 1, 1 },
		{ "{\"items\":[{\"metadata\":{\"uid\":\"a\",\"labels\":[],\"ownerReferences\":{}},"
		  "\"spec\":{\"containers\":[1,{},{\"name\":{}}]}}]}",
		  1, 0 },
		{ "{\"metadata\":{\"items\":[{}]},\"items\":[{\"metadata\":{\"uid\":\"a\"}}]}", 1,
		  0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct pods *pods = NULL;

		print_message("# %s\n", rows[i].text);
		assert_int_equal(read_text(rows[i].text, strlen(rows[i].text), 3, &pods), 0);
		assert_int_equal(pods__count(pods), rows[i].count);
		assert_int_equal(pods__skipped(pods), rows[i].skipped);
		pods__free(pods);
	}
}

static void a_large_pod_is_left_out_and_counted(void **state)
{
	size_t size = PODS_MOST_POD_BYTES + strlen(KUBELET_WEB) + 1000;
	char *text = malloc(size);
	struct pods *pods = NULL;
	int begin = snprintf(text, size,
			     "{\"items\":[" KUBELET_WEB ",{\"metadata\":{\"uid\":\"b\"},"
			     "\"x\":\"");

	assert_true(begin > 0 && (size_t)begin < size);
	memset(text + begin, 'x', size - (size_t)begin);
	snprintf(text + size - 5, 5, "\"}]}");
	assert_int_equal(read_text(text, size - 1, 65536, &pods), 0);
	assert_int_equal(pods__count(pods), 1);
	assert_int_equal(pods__skipped(pods), 1);
	expect_web(pods);
	pods__free(pods);
	free(text);
}

static void a_huge_answer_is_refused_without_keeping_it(void **state)
{
	struct pods_reader *reader = NULL;
	char *block = malloc(1 << 20);
	int err = 0, blocks = 0;

	memset(block, ' ', 1 << 20);
	assert_int_equal(pods_reader__new(labels, &reader), 0);
	assert_int_equal(pods_reader__feed(reader, "{\"items\":[", 10), 0);
	for (; !err && blocks < 100; blocks++)
		err = pods_reader__feed(reader, block, 1 << 20);
	assert_int_equal(err, -E2BIG);
	assert_int_equal(blocks, 16);
	pods_reader__free(reader);
	free(block);
}

static void a_deep_answer_is_refused(void **state)
{
	char text[4096] = "{\"items\":[{\"x\":";
	size_t length = strlen(text);
	struct pods *pods = NULL;

	memset(text + length, '[', sizeof(text) - length);
	assert_int_equal(read_text(text, sizeof(text), 100, &pods), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_answer_has_pods_containers_and_wanted_labels),
		cmocka_unit_test(it_does_not_matter_where_the_answer_is_cut_into_pieces),
		cmocka_unit_test(a_copy_of_a_static_pod_is_found_by_its_hash),
		cmocka_unit_test(an_incomplete_answer_is_refused),
		cmocka_unit_test(what_is_not_a_list_of_pods_is_refused),
		cmocka_unit_test(odd_lists_are_read_as_far_as_they_go),
		cmocka_unit_test(a_large_pod_is_left_out_and_counted),
		cmocka_unit_test(a_huge_answer_is_refused_without_keeping_it),
		cmocka_unit_test(a_deep_answer_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
