/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <stdio.h>

#include "identity/cgroup_path.h"
#include "identity/identity.h"

#define ID     "4f2a0123456789abcdef0123456789abcdef0123456789abcdef0123456789ab"
#define NODE   "99990123456789abcdef0123456789abcdef0123456789abcdef012345678999"
#define UID    "8a6d1f3e-0c2b-4a57-9f10-5d2b7c3e4f61"
#define UID_   "8a6d1f3e_0c2b_4a57_9f10_5d2b7c3e4f61"
#define STATIC "3b1f8f5ae1cb2bf5a3f1e1c54ab7b3d1"

struct row {
	const char *path;
	enum cgroup_path_kind kind;
	const char *runtime, *id, *name, *uid, *unit;
};

static void expect_all(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct cgroup_path path;

		cgroup_path__parse(rows[i].path, &path);
		print_message("# %s\n", rows[i].path);
		assert_int_equal(path.kind, rows[i].kind);
		assert_string_equal(path.runtime, rows[i].runtime);
		assert_string_equal(path.container_id, rows[i].id);
		assert_string_equal(path.container_name, rows[i].name);
		assert_string_equal(path.pod_uid, rows[i].uid);
		assert_string_equal(path.unit, rows[i].unit);
	}
}
#define EXPECT_ALL(rows) expect_all(rows, sizeof(rows) / sizeof(*(rows)))

#define C CGROUP_PATH_CONTAINER
#define P CGROUP_PATH_POD
#define U CGROUP_PATH_UNIT
#define S CGROUP_PATH_SESSION
#define O CGROUP_PATH_OTHER

static void kubernetes_paths_have_the_pod_and_the_container(void **state)
{
	static const struct row rows[] = {
		/* containerd, docker and CRI-O with the driver systemd */
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" UID_
		  ".slice/cri-containerd-" ID ".scope",
		  C, "containerd", ID, "", UID, "" },
		{ "/kubepods.slice/kubepods-pod" UID_ ".slice/docker-" ID ".scope", C, "docker", ID,
		  "", UID, "" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		  ".slice/crio-" ID ".scope/container",
		  C, "cri-o", ID, "", UID, "" },
		{ "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" UID_
		  ".slice/crio-conmon-" ID ".scope",
		  P, "", "", "", UID, "crio-conmon-" ID ".scope" },
		/* the driver cgroupfs */
		{ "/kubepods/burstable/pod" UID "/" ID, C, "", ID, "", UID, "" },
		{ "/kubepods/pod" UID "/crio-" ID, C, "cri-o", ID, "", UID, "" },
		{ "/kubepods/besteffort/pod" UID, P, "", "", "", UID, "" },
		/* a static pod */
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" STATIC
		  ".slice/cri-containerd-" ID ".scope",
		  C, "containerd", ID, "", STATIC, "" },
		/* the drivers of kubelet and containerd differ */
		{ "/system.slice/containerd.service/kubepods-burstable-pod" UID_
		  ".slice:cri-containerd:" ID,
		  C, "containerd", ID, "", UID, "" },
		{ "/kubepods.slice", O, "", "", "", "", "" },
		{ "/kubepods", O, "", "", "", "", "" },
		/* no uid */
		{ "/kubepods/burstable/podman/web", O, "", "", "", "", "" },
		{ "/kubepods/pod8a6d1f3e", O, "", "", "", "", "" },
	};

	EXPECT_ALL(rows);
}

static void the_innermost_container_counts(void **state)
{
	static const struct row rows[] = {
		/* kind, with and without a cgroup namespace of its own */
		{ "/docker/" NODE "/kubelet.slice/kubelet-kubepods.slice/"
		  "kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" UID_
		  ".slice/cri-containerd-" ID ".scope",
		  C, "containerd", ID, "", UID, "" },
		{ "/docker/" NODE "/kubelet/kubepods/burstable/pod" UID "/" ID, C, "", ID, "", UID,
		  "" },
		{ "/docker/" NODE "/system.slice/kubelet.service", C, "docker", NODE, "", "",
		  "kubelet.service" },
		/* k3s, and rootless k3s */
		{ "/kubepods/besteffort/pod" UID "/" ID, C, "", ID, "", UID, "" },
		{ "/system.slice/k3s.service", U, "", "", "", "", "k3s.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/k3s.slice/k3s-rootless.scope/"
		  "kubepods/besteffort/pod" UID "/" ID,
		  C, "", ID, "", UID, "" },
		/* systemd, and docker, inside a container */
		{ "/kubepods/pod" UID "/" ID "/system.slice/nginx.service", C, "", ID, "", UID,
		  "nginx.service" },
		{ "/kubepods/pod" UID "/" NODE "/docker/" ID, C, "docker", ID, "", UID, "" },
		{ "/system.slice/docker-" ID ".scope/init.scope", C, "docker", ID, "", "",
		  "init.scope" },
	};

	EXPECT_ALL(rows);
}

static void engines_without_kubernetes_are_known(void **state)
{
	static const struct row rows[] = {
		{ "/docker/" ID, C, "docker", ID, "", "", "" },
		{ "/system.slice/docker-" ID ".scope", C, "docker", ID, "", "", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/docker-" ID ".scope", C,
		  "docker", ID, "", "", "" },
		{ "/machine.slice/libpod-" ID ".scope/container", C, "podman", ID, "", "", "" },
		{ "/libpod_parent/libpod-" ID, C, "podman", ID, "", "", "" },
		{ "/machine.slice/libpod-conmon-" ID ".scope", U, "", "", "", "",
		  "libpod-conmon-" ID ".scope" },
		{ "/machine.slice/machine-libpod_pod_" ID ".slice/libpod-" ID ".scope", C, "podman",
		  ID, "", "", "" },
		{ "/system.slice/nerdctl-" ID ".scope", C, "containerd", ID, "", "", "" },
		{ "/default/" ID, C, "", ID, "", "", "" },
		{ "/lxc.payload.web1/system.slice/nginx.service", C, "lxc", "", "web1", "",
		  "nginx.service" },
		{ "/lxc.payload/web1", C, "lxc", "", "web1", "", "" },
		{ "/lxc/101/ns/system.slice/cron.service", C, "lxc", "", "101", "",
		  "cron.service" },
		{ "/lxc.monitor.web1", O, "", "", "", "", "" },
		{ "/machine.slice/machine-qemu\\x2d1\\x2dweb.scope/libvirt/emulator", C, "machine",
		  "", "qemu-1-web", "", "" },
		{ "/machine.slice/systemd-nspawn@web.service/payload/init.scope", C, "machine", "",
		  "web", "", "init.scope" },
	};

	EXPECT_ALL(rows);
}

static void units_and_sessions_differ(void **state)
{
	static const struct row rows[] = {
		{ "/", O, "", "", "", "", "" },
		{ "", O, "", "", "", "", "" },
		{ "/init.scope", U, "", "", "", "", "init.scope" },
		{ "/system.slice", O, "", "", "", "", "" },
		{ "/system.slice/nginx.service", U, "", "", "", "", "nginx.service" },
		{ "/system.slice/_cpu.service", U, "", "", "", "", "cpu.service" },
		{ "/system.slice/system-postgresql.slice/postgresql@15-main.service", U, "", "", "",
		  "", "postgresql@15-main.service" },
		{ "/system.slice/php8.1-fpm.service/pool-www", U, "", "", "", "",
		  "php8.1-fpm.service" },
		{ "/user.slice/user-1000.slice/session-2.scope", S, "", "", "", "",
		  "session-2.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/init.scope", S, "", "", "", "",
		  "init.scope" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/web.service", U, "", "",
		  "", "", "web.service" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/"
		  "app-gnome-firefox-1234.scope",
		  S, "", "", "", "", "app-gnome-firefox-1234.scope" },
		{ "/batch/job.1/task.2", O, "", "", "", "", "" },
		{ "//system.slice//ssh.service//", U, "", "", "", "", "ssh.service" },
	};

	EXPECT_ALL(rows);
}

static void hostile_paths_do_no_harm(void **state)
{
	char text[5000];
	struct cgroup_path path;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	cgroup_path__parse(text, &path);
	assert_int_equal(path.kind, O);
	/* A name of 255 bytes is the longest, one of 256 cannot be. */
	snprintf(text, sizeof(text), "/lxc/%0255d", 1);
	cgroup_path__parse(text, &path);
	assert_int_equal(strlen(path.container_name), 255);
	snprintf(text, sizeof(text), "/lxc/%0256d", 1);
	cgroup_path__parse(text, &path);
	assert_int_equal(path.kind, O);
	cgroup_path__parse("/machine.slice/machine-\\x00\\x2\\xzz\\x.scope", &path);
	assert_string_equal(path.container_name, "\\x00\\x2\\xzz\\x");
	cgroup_path__parse("/machine.slice/machine-.scope", &path);
	assert_string_equal(path.container_name, "");
}

static void expect_name(const char *name, const char *folded)
{
	char ret[64];

	identity__fold_name(name, ret, sizeof(ret));
	assert_string_equal(ret, folded);
}

static void thread_names_lose_their_numbers(void **state)
{
	char tiny[4];

	expect_name("worker-12", "worker-*");
	expect_name("worker-12345678", "worker-*");
	expect_name("x-12345678-y", "x-*-y");
	expect_name("nginx", "nginx");
	expect_name("kworker/u8:3", "kworker/u*:*");
	expect_name("pool-3-thread-1", "pool-*-thread-*");
	expect_name("pool-12-thread-", "pool-*-thread-*");
	expect_name("conn 0af1b2c3d4", "conn *");
	expect_name("deadbeef", "deadbeef");
	expect_name("", "");
	expect_name("a\nb\xff", "a?b?");
	identity__fold_name("worker-12", tiny, sizeof(tiny));
	assert_string_equal(tiny, "wor");
}

static void expect_process(const char *name, const char *folded)
{
	char ret[64];

	identity__fold_process(name, ret, sizeof(ret));
	assert_string_equal(ret, folded);
}

static void process_names_keep_their_release(void **state)
{
	expect_process("python3", "python3");
	expect_process("python3.11", "python3.11");
	expect_process("php-fpm8.2", "php-fpm8.2");
	expect_process("worker-12", "worker-*");
	expect_process("job1234", "job*");
	expect_process("7z", "*z");
}

static void expect_path(const char *path, const char *mount, const char *folded)
{
	char ret[128];

	identity__fold_path(path, mount, ret, sizeof(ret));
	assert_string_equal(ret, folded);
}

static void paths_are_cut_after_two_parts(void **state)
{
	expect_path("/var/lib/postgresql/15/main/base/16384/2619", "/", "/var/lib/*");
	expect_path("/srv/data/customers/42/x.db", "/srv/data", "/srv/data/customers/*/*");
	expect_path("/srv/data", "/srv/data", "/srv/data");
	expect_path("/srv/database/a", "/srv/data", "/srv/database/*");
	expect_path("/etc/passwd", "", "/etc/passwd");
	expect_path("/etc", "", "/etc");
	expect_path("/home/user1000/secret/plan", "/", "/home/user*/*");
	expect_path("/mnt/disk7/a/b/c/", "/mnt/disk7/", "/mnt/disk*/a/b/*");
	expect_path("a/b/c", "", "a/b/*");
	expect_path("/", "/", "/");
	expect_path("", "", "");
	expect_path("//a//b//", "", "/a/b");
	expect_path("/tmp/4f2a0123456789abcdef/x", "", "/tmp/*/*");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kubernetes_paths_have_the_pod_and_the_container),
		cmocka_unit_test(the_innermost_container_counts),
		cmocka_unit_test(engines_without_kubernetes_are_known),
		cmocka_unit_test(units_and_sessions_differ),
		cmocka_unit_test(hostile_paths_do_no_harm),
		cmocka_unit_test(thread_names_lose_their_numbers),
		cmocka_unit_test(process_names_keep_their_release),
		cmocka_unit_test(paths_are_cut_after_two_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
