/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include "core/cgroups.h"

#define ID "4f2a0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"

static void a_unit_without_a_type_is_a_service(void **state)
{
	assert_true(cgroups__is_unit("nginx", "nginx.service"));
	assert_true(cgroups__is_unit("nginx.service", "nginx.service"));
	assert_true(cgroups__is_unit("user-1000.slice", "user-1000.slice"));
	assert_true(cgroups__is_unit("php-fpm@*", "php-fpm@8.2.service"));
	assert_true(cgroups__is_unit("cpu.service", "_cpu.service"));
	assert_true(cgroups__is_unit("php8.1-fpm", "php8.1-fpm.service"));
	assert_true(cgroups__is_unit("php8.?-fpm", "php8.1-fpm.service"));
	assert_true(cgroups__is_unit("php8.1-fpm.service", "php8.1-fpm.service"));
	assert_true(cgroups__is_unit("nginx.*", "nginx.socket"));
	assert_false(cgroups__is_unit("php8.1-fpm", "php8.1-fpm.scope"));
	assert_false(cgroups__is_unit("php8.1-fpm", "php8.1-fpm"));
	assert_false(cgroups__is_unit("nginx", "nginx.socket"));
	assert_false(cgroups__is_unit("ngin", "nginx.service"));
}

static void engines_name_cgroups_after_ids(void **state)
{
	assert_true(cgroups__is_container("4f2a01", "docker-" ID ".scope"));
	assert_true(cgroups__is_container("4f2a01", "cri-containerd-" ID ".scope"));
	assert_true(cgroups__is_container("4f2a01", "crio-" ID ".scope"));
	assert_true(cgroups__is_container("4f2a01", "libpod-" ID ".scope"));
	assert_true(cgroups__is_container(ID, "libpod-" ID));
	assert_true(cgroups__is_container("4f2a01", ID));
	assert_true(cgroups__is_container("web", "lxc.payload.web1"));
	assert_true(cgroups__is_container("web", "machine-web1.scope"));
}

static void what_only_looks_like_one_is_none(void **state)
{
	assert_false(cgroups__is_container("4f2a02", "docker-" ID ".scope"));
	assert_false(cgroups__is_container("4f2a01", "libpod-conmon-" ID ".scope"));
	assert_false(cgroups__is_container("4f2a01", "docker-" ID "0.scope"));
	assert_false(cgroups__is_container("4f2a01", "docker-4f2a0123.scope"));
	assert_false(cgroups__is_container("", "docker-" ID ".scope"));
	assert_false(cgroups__is_container("docker", "docker-" ID ".scope"));
	assert_false(cgroups__is_container("ssh", "ssh.service"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_unit_without_a_type_is_a_service),
		cmocka_unit_test(engines_name_cgroups_after_ids),
		cmocka_unit_test(what_only_looks_like_one_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
