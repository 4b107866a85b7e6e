/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process that was taken over by the file that it parses can ask for, and does not get. */
#include "../harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/broker.h"
#include "symbol/download.h"

static char folder[] = "/tmp/test_broker_XXXXXX";

static char *in_folder(const char *name)
{
	static char paths[4][64];
	static int next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static char kept[8192];
static size_t kept_size;

/* What arrives at the process that serves. */
static int serve(const void *bytes, size_t size)
{
	assert_true(size <= sizeof(kept));
	memcpy(kept, bytes, size);
	kept_size = size;
	return broker__serve(bytes, size);
}

static int ask(const struct broker_request *request)
{
	int fd = broker__open(request);

	if (fd < 0)
		return fd;
	/* It cannot be written to, unless it is new. */
	if (request->kind != BROKER_SCRATCH)
		assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
	return 0;
}

static int ask_elf(const char *root, const char *path)
{
	return ask(&(struct broker_request) { .kind = BROKER_ELF, .root = root, .path = path });
}

static void programs_and_libraries_are_opened(void **state)
{
	char root[64];

	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	assert_int_equal(ask_elf("", "/bin/sh"), 0);
	assert_int_equal(ask_elf(root, "/bin/sh"), 0);
	assert_int_equal(ask_elf(NULL, "/bin/sh"), 0);
	assert_int_equal(ask_elf("", "/nonexistent"), -ENOENT);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	const char *script = in_folder("script"), *empty = in_folder("empty");
	FILE *file = fopen(script, "we");

	if (!file) {
		fail();
		return;
	}
	fputs("#!/bin/sh\n", file);
	fclose(file);
	close(open(empty, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(ask_elf("", "/etc/passwd"), -ENOEXEC);
	assert_true(ask_elf("", "/etc/shadow") < 0);
	assert_int_equal(ask_elf("", script), -ENOEXEC);
	assert_int_equal(ask_elf("", empty), -ENOEXEC);
	assert_int_equal(ask_elf("", folder), -EINVAL);
}

static void pipes_devices_and_pseudo_files_are_not_opened(void **state)
{
	const char *fifo = in_folder("fifo");

	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(ask_elf("", fifo), -EINVAL);
	assert_int_equal(ask_elf("", "/dev/zero"), -EINVAL);
	assert_true(ask_elf("", "/dev/mem") < 0);
	assert_true(ask_elf("", "/proc/kcore") < 0);
	assert_true(ask_elf("", "/proc/self/mem") < 0);
	assert_true(ask_elf("", "/sys/kernel/btf/vmlinux") < 0);
}

static void a_path_leads_nowhere_else(void **state)
{
	char root[64];

	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	assert_int_equal(ask_elf("", "/usr/../bin/sh"), -EACCES);
	assert_int_equal(ask_elf(root, "/.."), -EACCES);
	assert_int_equal(ask_elf(root, "/../bin/sh"), -EACCES);
	assert_int_equal(ask_elf("", "bin/sh"), -EACCES);
	assert_int_equal(ask_elf("", ""), -EACCES);
	/* Two dots can be part of a name. */
	assert_int_equal(ask_elf("", "/..bin"), -ENOENT);
}

static void what_a_process_has_open_cannot_be_reached_through_proc(void **state)
{
	const char *link = in_folder("magic");
	char path[64], root[64];
	int fd = open("/bin/sh", O_RDONLY | O_CLOEXEC);

	assert_true(ask_elf("", "/proc/self/exe") < 0);
	assert_true(ask_elf("", "/proc/self/root/bin/sh") < 0);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	assert_true(ask_elf("", path) < 0);
	assert_int_equal(symlink(path, link), 0);
	assert_true(ask_elf("", link) < 0);
	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	assert_true(ask_elf(root, path) < 0);
	assert_true(ask_elf(root, link) < 0);
	assert_int_equal(unlink(link), 0);
	close(fd);
}

static void only_processes_have_roots(void **state)
{
	static const char *const roots[] = { "/",
					     "/etc",
					     "/proc/self/root",
					     "/proc/0/root",
					     "/proc/-1/root",
					     "/proc/1/root/",
					     "/proc/1/root/..",
					     "/proc/ 1/root",
					     "/proc/01/root",
					     "/proc/1/cwd",
					     "/proc/1/root/../fd",
					     "/proc/999999999999/root" };

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		assert_int_equal(ask_elf(roots[i], "/bin/sh"), -EACCES);
}

static void a_link_out_of_a_root_stays_in_it(void **state)
{
	const char *link = in_folder("link");
	char root[64];

	/* Without the policy, as the namer's tests call it: any folder is a root. */
	broker__redirect(NULL);
	assert_int_equal(symlink("/bin/sh", link), 0);
	assert_int_equal(ask_elf("", link), 0);
	assert_int_equal(ask_elf(folder, "/link"), -ENOENT);
	unlink(link);
	assert_int_equal(symlink("../../../../../../bin/sh", link), 0);
	assert_int_equal(ask_elf(folder, "/link"), -ENOENT);
	broker__redirect(serve);
	snprintf(root, sizeof(root), "/proc/%d/root", getpid());
	assert_int_equal(ask_elf(root, link), 0);
}

static void the_other_kinds_take_no_path(void **state)
{
	assert_int_equal(
		ask(&(struct broker_request) { .kind = BROKER_KALLSYMS, .path = "/etc/shadow" }),
		0);
	assert_int_equal(ask(&(struct broker_request) { .kind = BROKER_PERFMAP, .pid = -1 }),
			 -EINVAL);
	assert_int_equal(ask(&(struct broker_request) { .kind = BROKER_PERFMAP, .pid = 0 }),
			 -EINVAL);
	assert_int_equal(ask(&(struct broker_request) { .kind = BROKER_PERFMAP, .pid = getpid() }),
			 -ENOENT);
	assert_int_equal(
		ask(&(struct broker_request) { .kind = BROKER_SCRATCH, .bytes = UINT64_MAX }),
		-EFBIG);
	assert_int_equal(ask(&(struct broker_request) { .kind = BROKER_SCRATCH,
							.bytes = BROKER_MOST_SCRATCH + 1 }),
			 -EFBIG);
	assert_int_equal(ask(&(struct broker_request) { .kind = 77 }), -EINVAL);
}

static void downloads_are_served_by_another_process_and_by_build_id_only(void **state)
{
	static const char *const ids[] = {
		"", "abc", "../../etc/shadow", "ABCD", "abcd/..", "abcg"
	};

	assert_int_equal(
		ask(&(struct broker_request) { .kind = BROKER_DOWNLOAD, .path = "abcdef" }),
		-EACCES);
	assert_true(broker__is_download(kept, kept_size));
	for (size_t size = 0; size < kept_size; size++)
		assert_int_equal(broker__serve_download(kept, size), -EBADMSG);
	assert_int_equal(broker__serve_download(kept, kept_size), -ENOENT);
	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		ask(&(struct broker_request) { .kind = BROKER_DOWNLOAD, .path = ids[i] });
		assert_int_equal(broker__serve_download(kept, kept_size), -EACCES);
	}
	ask_elf("", "/bin/sh");
	assert_false(broker__is_download(kept, kept_size));
	assert_false(broker__is_download(kept, 3));
	assert_int_equal(broker__serve_download(kept, kept_size), -EACCES);
}

static void requests_that_are_cut_or_changed_are_refused(void **state)
{
	char bytes[sizeof(kept)] = "";

	assert_int_equal(ask_elf("", "/bin/sh"), 0);
	for (size_t size = 0; size < kept_size; size++)
		assert_int_equal(broker__serve(kept, size), -EBADMSG);
	for (size_t at = 16; at < 24; at++) {
		memcpy(bytes, kept, kept_size);
		bytes[at] = (char)(bytes[at] + 1);
		assert_int_equal(broker__serve(bytes, kept_size), -EBADMSG);
	}
	/* A 0 inside of the path would hide the rest of it from the check. */
	memcpy(bytes, kept, kept_size);
	bytes[kept_size - 3] = '\0';
	assert_int_equal(broker__serve(bytes, kept_size), -EBADMSG);
}

static int set_up(void **state)
{
	broker__redirect(serve);
	return !mkdtemp(folder);
}

static int tear_down(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command); // NOLINT(cert-env33-c)
}

static void only_a_regular_file_for_reading_is_taken_as_a_download(void **state)
{
	int pair[2], fd = open(in_folder("file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_false(download__is_file(fd));
	close(fd);
	fd = open(in_folder("file"), O_RDONLY | O_CLOEXEC);
	assert_true(download__is_file(fd));
	close(fd);
	assert_false(download__is_file(fd));
	fd = open(in_folder("file"), O_PATH | O_CLOEXEC);
	assert_false(download__is_file(fd));
	close(fd);
	fd = open(folder, O_RDONLY | O_CLOEXEC);
	assert_false(download__is_file(fd));
	close(fd);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_false(download__is_file(fd));
	close(fd);
	assert_int_equal(pipe(pair), 0);
	assert_false(download__is_file(pair[0]));
	close(pair[0]);
	close(pair[1]);
	unlink(in_folder("file"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(programs_and_libraries_are_opened),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
		cmocka_unit_test(pipes_devices_and_pseudo_files_are_not_opened),
		cmocka_unit_test(a_path_leads_nowhere_else),
		cmocka_unit_test(what_a_process_has_open_cannot_be_reached_through_proc),
		cmocka_unit_test(only_processes_have_roots),
		cmocka_unit_test(a_link_out_of_a_root_stays_in_it),
		cmocka_unit_test(the_other_kinds_take_no_path),
		cmocka_unit_test(only_a_regular_file_for_reading_is_taken_as_a_download),
		cmocka_unit_test(downloads_are_served_by_another_process_and_by_build_id_only),
		cmocka_unit_test(requests_that_are_cut_or_changed_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
