/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/cli.h"
#include "guard/split.h"
#include "recording/files.h"

#define TEMPORARY_FOLDER "/var/tmp"
/* How SQLite names its temporary files. */
#define TEMPORARY_PREFIX "etilqs_"

static const char *const tails[] = { "", "-journal", "-wal" };
enum { MAIN, JOURNAL, LOG, TAILS };

/* A recording: what both processes know. */
struct known {
	const char *given;
	char *plain; /* NULL: cannot be read */
	int err;     /* why */
	int folder;  /* that it was in at the beginning, even if its path leads elsewhere now */
	const char *name; /* in the folder; part of `plain` */
};

enum operation { STAT, OPEN, OPEN_TO_WRITE, UNLINK, OPEN_TEMPORARY, OPEN_OUTPUT, FINISH_OUTPUT };

struct request {
	uint32_t operation, index, tail;
	int32_t err; /* of FINISH_OUTPUT */
};

static struct known *known;
static size_t known_count;
static const struct output *declared;
static struct output_file output_file;

/* --- in the process that keeps its privileges ------------------------------------------------- */

/* Its name in the folder. NULL and errno: not one that was named, or it cannot be read. The caller
 * frees it. */
static char *name_file(uint32_t index, uint32_t tail)
{
	char *path = NULL;

	if (index >= known_count || tail >= TAILS) {
		errno = EINVAL;
		return NULL;
	}
	if (!known[index].plain) {
		errno = -known[index].err;
		return NULL;
	}
	return asprintf(&path, "%s%s", known[index].name, tails[tail]) < 0 ? NULL : path;
}

/* A commit that its recorder could not finish is rolled back. Nothing else is ever written. */
static bool may_write(const struct request *request, const struct stat *info)
{
	cleanup(free_p) char *path = name_file(request->index, JOURNAL);
	struct stat beside;

	return path && request->tail != LOG && info->st_nlink == 1 &&
	       !fstatat(known[request->index].folder, path, &beside, AT_SYMLINK_NOFOLLOW) &&
	       S_ISREG(beside.st_mode) && beside.st_nlink == 1 && beside.st_uid == info->st_uid;
}

static int open_known(const struct request *request, const char *path, int *ret)
{
	bool to_write = request->operation == OPEN_TO_WRITE;
	int folder = known[request->index].folder, fd, err = 0;
	struct stat info;

	/* Opening a device can have side effects. */
	if (fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (!S_ISREG(info.st_mode))
		return -EACCES;
	fd = openat(folder, path,
		    (to_write ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			    O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &info))
		err = -errno;
	else if (!S_ISREG(info.st_mode) || (to_write && !may_write(request, &info)))
		err = -EACCES;
	if (err)
		close(fd);
	else
		*ret = fd;
	return err;
}

static int provide_known(const struct request *request, struct split_reply *ret)
{
	cleanup(free_p) char *path = name_file(request->index, request->tail);
	struct stat info;
	int folder;

	if (!path)
		return errno ? -errno : -ENOMEM;
	folder = known[request->index].folder;
	switch (request->operation) {
	case STAT:
		if (fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW))
			return -errno;
		memcpy(ret->bytes, &info, sizeof(info));
		ret->size = sizeof(info);
		return 0;
	case UNLINK:
		if (fstatat(folder, path, &info, AT_SYMLINK_NOFOLLOW))
			return -errno;
		if (request->tail != JOURNAL || !S_ISREG(info.st_mode))
			return -EACCES;
		return unlinkat(folder, path, 0) ? -errno : 0;
	default:
		return open_known(request, path, &ret->fd);
	}
}
_Static_assert(sizeof(struct stat) <= SPLIT_MOST_BYTES, "fits into a reply");

static int open_temporary(int *ret)
{
	char path[] = TEMPORARY_FOLDER "/gapless-XXXXXX";

	*ret = mkostemp(path, O_CLOEXEC);
	if (*ret < 0)
		return -errno;
	unlink(path);
	return 0;
}

static int open_output(struct split_reply *ret)
{
	int err;

	if (!declared || output_file.temporary)
		return -EACCES;
	err = output__open(declared, &output_file);
	if (err)
		return err;
	ret->fd = output_file.fd;
	output_file.fd = -1;
	return 0;
}

static int provide(void *context, const void *bytes, size_t size, struct split_reply *ret)
{
	struct request request;

	if (size != sizeof(request))
		return -EINVAL;
	memcpy(&request, bytes, sizeof(request));
	switch (request.operation) {
	case STAT:
	case OPEN:
	case OPEN_TO_WRITE:
	case UNLINK:
		return provide_known(&request, ret);
	case OPEN_TEMPORARY:
		return open_temporary(&ret->fd);
	case OPEN_OUTPUT:
		return open_output(ret);
	case FINISH_OUTPUT:
		return output__finish(&output_file, request.err);
	default:
		return -EINVAL;
	}
}

/* The new process has ended; false: it died. If a signal ended it that ends programs, ends too. */
static bool has_exited(int status)
{
	static const int passed_on[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP };

	if (WIFEXITED(status))
		return true;
	output__finish(&output_file, -ECANCELED);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++) {
		if (WTERMSIG(status) != passed_on[i])
			continue;
		signal(passed_on[i], SIG_DFL);
		raise(passed_on[i]);
	}
	log_error("the process that reads recordings died of %s [if the recording is from somebody "
		  "else, it may be made to do that; else please report it]",
		  strsignal(WTERMSIG(status)));
	return false;
}

/* --- in the new process ----------------------------------------------------------------------- */

static int fail_with(int err)
{
	errno = -err;
	return -1;
}

static bool find(const char *path, struct request *ret)
{
	for (uint32_t i = 0; i < known_count; i++) {
		size_t length = known[i].plain ? strlen(known[i].plain) : 0;

		if (!length || strncmp(path, known[i].plain, length))
			continue;
		for (uint32_t tail = 0; tail < TAILS; tail++) {
			if (strcmp(path + length, tails[tail]))
				continue;
			*ret = (struct request) { .index = i, .tail = tail };
			return true;
		}
	}
	return false;
}

/* The path of a recording has no links, so that what is above it are folders. */
static bool is_above(const char *path)
{
	size_t length = strlen(path);

	for (size_t i = 0; i < known_count; i++)
		if (known[i].plain && !strncmp(path, known[i].plain, length) &&
		    known[i].plain[length] == '/')
			return true;
	return false;
}

static bool is_temporary(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && !strncmp(name + 1, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX));
}

static int ask(struct request *request, uint32_t operation, struct split_reply *ret)
{
	request->operation = operation;
	return split__ask(request, sizeof(*request), ret);
}

static char *remote_resolve(const char *path)
{
	for (size_t i = 0; i < known_count; i++) {
		if (strcmp(known[i].given, path))
			continue;
		if (known[i].plain)
			return strdup(known[i].plain);
		errno = -known[i].err;
		return NULL;
	}
	errno = EACCES;
	return NULL;
}

static int remote_open(const char *path, int flags, int mode)
{
	struct split_reply reply = { .fd = -1 };
	struct request request = {};
	int err = -EACCES;

	if (is_temporary(path))
		err = ask(&request, OPEN_TEMPORARY, &reply);
	else if (find(path, &request) && !(flags & O_CREAT))
		err = ask(&request, (flags & O_ACCMODE) == O_RDONLY ? OPEN : OPEN_TO_WRITE, &reply);
	return err ? fail_with(err) : reply.fd;
}

static int remote_lstat(const char *path, struct stat *ret)
{
	struct split_reply reply;
	struct request request;
	int err;

	if (!find(path, &request)) {
		if (!is_above(path))
			return lstat(path, ret);
		*ret = (struct stat) { .st_mode = S_IFDIR | 0755 };
		return 0;
	}
	err = ask(&request, STAT, &reply);
	if (!err && reply.size != sizeof(*ret))
		err = -EPIPE;
	if (err)
		return fail_with(err);
	memcpy(ret, reply.bytes, sizeof(*ret));
	return 0;
}

static int remote_access(const char *path, int mode)
{
	struct request request;
	struct stat info;

	return find(path, &request) ? remote_lstat(path, &info) : access(path, mode);
}

static int remote_unlink(const char *path)
{
	struct split_reply reply;
	struct request request;
	int err;

	/* It has no name any more. */
	if (is_temporary(path))
		return 0;
	err = find(path, &request) ? ask(&request, UNLINK, &reply) : -EACCES;
	return err ? fail_with(err) : 0;
}

static const struct recording_files remote_files = { .resolve = remote_resolve,
						     .open = remote_open,
						     .stat = remote_lstat,
						     .lstat = remote_lstat,
						     .access = remote_access,
						     .unlink = remote_unlink };

static int remote_open_output(const struct output *ignored, struct output_file *ret)
{
	struct request request = {};
	struct split_reply reply;
	int err = fflush(stdout) ? -errno : ask(&request, OPEN_OUTPUT, &reply);

	if (err)
		return err;
	*ret = (struct output_file) { .fd = reply.fd };
	return 0;
}

static int remote_finish_output(struct output_file *file, int result)
{
	struct request request = { .err = result };
	struct split_reply reply;

	return ask(&request, FINISH_OUTPUT, &reply);
}

/* It was checked before. */
static bool is_no_recording(const struct output *ignored)
{
	return false;
}

static const struct output_way remote_way = { remote_open_output, remote_finish_output,
					      is_no_recording };

/* --- the beginning ---------------------------------------------------------------------------- */

static void forget(void)
{
	while (known_count) {
		close_p(&known[--known_count].folder);
		free(known[known_count].plain);
	}
	free(TAKE(known));
}

static int find_folder(struct known *one)
{
	const char *slash = strrchr(one->plain, '/');
	cleanup(free_p) char *folder =
		slash ? strndup(one->plain, (size_t)(slash - one->plain) + 1) : strdup(".");

	if (!folder)
		return -ENOMEM;
	one->name = slash ? slash + 1 : one->plain;
	one->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return one->folder < 0 ? -errno : 0;
}

static int learn(const char *const *paths, size_t count)
{
	known = calloc(count + 1, sizeof(*known));
	if (!known)
		return -ENOMEM;
	for (; known_count < count; known_count++) {
		struct known *one = &known[known_count];

		one->given = paths[known_count];
		one->plain = recording_files->resolve(one->given);
		one->folder = -1;
		one->err = one->plain ? find_folder(one) : -errno;
		if (one->err)
			free(TAKE(one->plain));
	}
	return 0;
}

/* What libraries read from files when they first need it. */
static void prepare_libraries(void)
{
	tzset();
	json_object_seed(0);
}

/* Switches that only tests set. */
static void follow_switches(void)
{
	uint32_t pause_ms = cli__test_switch("GAPLESS_TEST_PAUSE_MS");
	const struct timespec pause = { .tv_sec = pause_ms / 1000,
					.tv_nsec = pause_ms % 1000 * 1000000L };

	if (pause_ms)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	if (cli__test_switch("GAPLESS_TEST_FORBIDDEN"))
		syscall(SYS_bpf, 0, NULL, 0);
}

/* 0 in the new process; 1 in the old one, after the new one has ended. */
static int split(const char *const *paths, size_t count, int *ret_status)
{
	int err = learn(paths, count);
	pid_t old = getpid();

	prepare_libraries();
	fflush(NULL);
	if (!err)
		err = split__begin(GUARD_READER, provide, NULL, ret_status);
	if (!err)
		err = recording_files__use(&remote_files);
	if (err < 0)
		log_error("cannot read recordings without privileges: %s", strerror(-err));
	/* The new process must not go on as if it were the old one. */
	if (err < 0 && getpid() != old)
		_exit(EXIT_FAILURE);
	if (err)
		return err;
	output__set_way(&remote_way);
	follow_switches();
	return 0;
}

void reader__begin(const char *const *paths, size_t count, const struct output *output)
{
	int status = 0, err;

	declared = output;
	if (output && output__is_recording(output))
		exit(EXIT_FAILURE);
	err = split(paths, count, &status);
	if (err > 0)
		exit(has_exited(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
	if (err)
		exit(EXIT_FAILURE);
}

int reader__call(const char *path, int (*work)(void *context), void *context)
{
	int status = 0, err = split(&path, 1, &status);

	if (!err) {
		err = work(context);
		fflush(NULL);
		_exit(err > -256 ? -err : EIO);
	}
	forget();
	if (err < 0)
		return err;
	return has_exited(status) ? -WEXITSTATUS(status) : -EBADMSG;
}
