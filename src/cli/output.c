/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/owner.h"
#include "base/words.h"
#include "recording/recording.h"
#include "report/report.h"

/* The file that is removed if a signal ends the program; NULL: none. */
static const char *volatile unfinished;

bool output__is_stdout(const struct output *output)
{
	return !strcmp(output->path, "-");
}

/* The name of the output for messages. */
static struct words name_of(const struct output *output)
{
	struct words name = {};

	if (output__is_stdout(output))
		words__say(name.text, sizeof(name.text), "standard output");
	else
		words__say(name.text, sizeof(name.text), "'%s'",
			   words__clean(output->path, WORDS_MOST_COLUMNS - 1).text);
	return name;
}

static bool is_same(const struct stat *first, const struct stat *second)
{
	return first->st_dev == second->st_dev && first->st_ino == second->st_ino;
}

static bool is_recording(const struct output *output)
{
	struct stat info, recording;
	bool found;

	if (output__is_stdout(output) ? fstat(STDOUT_FILENO, &info) : stat(output->path, &info))
		return false;
	found = !output__is_stdout(output) && recording__is_one(output->path);
	for (size_t i = 0; i < output->recording_count && !found; i++)
		found = !stat(output->recordings[i], &recording) && is_same(&info, &recording);
	if (found)
		log_error("%s is a recording itself [%s another name]", name_of(output).text,
			  output->option);
	return found;
}

static void remove_unfinished(int number)
{
	if (unfinished)
		unlink(unfinished);
	/*
	 * Pending until this handler returns; then it ends the program as if it had not been
	 * caught.
	 */
	raise(number);
}

/* A signal that was ignored stays ignored: under nohup, SIGHUP must not end the program. */
static void catch_signals(sigset_t *ret_caught)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = remove_unfinished, .sa_flags = SA_RESETHAND };
	struct sigaction before;

	sigemptyset(ret_caught);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		sigaddset(ret_caught, numbers[i]);
		if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	}
}

/*
 * Writes, and closes `fd`. `write` can only tell that the stream failed; the reason is in errno,
 * from the last attempt to write. Errors that a file system defers may show up on close.
 */
static int write_and_close(int fd, output_write *write, void *context)
{
	FILE *out = fdopen(fd, "w");
	int err;

	if (!out) {
		err = -errno;
		close(fd);
		return err;
	}
	errno = 0;
	err = write(out, context);
	if (ferror(out))
		err = errno ? -errno : -EIO;
	errno = 0;
	if (fclose(out) && !err)
		err = errno ? -errno : -EIO;
	return err;
}

/*
 * mkostemp() with signals blocked, so that a handler sees the file created and known, or not at
 * all.
 */
static int make_temporary(char *path)
{
	sigset_t caught, before;
	int fd, err;

	catch_signals(&caught);
	sigprocmask(SIG_BLOCK, &caught, &before);
	fd = mkostemp(path, O_CLOEXEC);
	err = errno;
	if (fd >= 0)
		unfinished = path;
	sigprocmask(SIG_SETMASK, &before, NULL);
	errno = err;
	return fd;
}

/*
 * A temporary file in the same folder, which is renamed at the end. Like the recording, only its
 * owner can read it (mode 0600, from mkostemp()), because it has names of files and of code. A
 * symbolic link is replaced, not followed: in a shared folder it may be another user's.
 */
static int open_file(const char *path, struct output_file *file)
{
	if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	file->fd = make_temporary(file->temporary);
	if (file->fd >= 0) {
		owner__give(file->fd);
		return 0;
	}
	free(TAKE(file->temporary));
	return -errno;
}

/* A device or a pipe cannot be replaced by renaming. */
static int open_stream(const char *path, struct output_file *file)
{
	/* No O_CREAT or O_TRUNC: since the check, the path may refer to another file. */
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), err;
	struct stat info;

	if (fd < 0)
		return -errno;
	err = fstat(fd, &info) ? -errno : S_ISREG(info.st_mode) ? -EEXIST : 0;
	if (!err && owner__is_trap_fd(path, fd))
		err = -EACCES;
	if (err)
		close(fd);
	else
		file->fd = fd;
	return err;
}

/* Appends to what was printed before. */
static int open_standard(int number, struct output_file *file)
{
	if (fflush(stdout))
		return -errno;
	/* A closed stream: cli.c has opened something read-only in its place. */
	if ((fcntl(number, F_GETFL) & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	file->fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
	return file->fd < 0 ? -errno : 0;
}

/*
 * The number of the standard stream that the output refers to; -1: none. If a standard stream is a
 * file, that file has more than one name: replacing /dev/stdout by renaming would break it for
 * everybody.
 */
static int standard_number(const struct output *output, const struct stat *info)
{
	struct stat own;

	if (output__is_stdout(output))
		return STDOUT_FILENO;
	for (int i = STDOUT_FILENO; i <= STDERR_FILENO; i++)
		if (info && S_ISREG(info->st_mode) && !fstat(i, &own) && is_same(info, &own))
			return i;
	return -1;
}

int output__open(const struct output *output, struct output_file *ret)
{
	struct stat info;
	bool is_there = !stat(output->path, &info);
	int number = standard_number(output, is_there ? &info : NULL);

	*ret = (struct output_file) { .fd = -1, .path = output->path };
	if (number < 0 && owner__is_trap(output->path))
		return -EACCES;
	if (number >= 0)
		return open_standard(number, ret);
	if (is_there && !S_ISREG(info.st_mode))
		return open_stream(output->path, ret);
	return open_file(output->path, ret);
}

int output__finish(struct output_file *file, int err)
{
	if (!file->temporary)
		return err;
	if (!err && rename(file->temporary, file->path))
		err = -errno;
	if (err)
		unlink(file->temporary);
	unfinished = NULL;
	free(TAKE(file->temporary));
	return err;
}

static const struct output_way direct = { output__open, output__finish, is_recording };
static const struct output_way *way = &direct;

void output__set_way(const struct output_way *new_way)
{
	way = new_way;
}

bool output__is_recording(const struct output *output)
{
	return way->is_recording(output);
}

int output__write(const struct output *output, output_write *write, void *context)
{
	struct output_file file;
	int err;

	if (output__is_recording(output))
		return -EEXIST;
	err = way->open(output, &file);
	if (!err)
		err = way->finish(&file, write_and_close(file.fd, write, context));
	if (err)
		log_error("cannot write %s: %s", name_of(output).text,
			  err == -E2BIG                                    ? model__why(err)
			  : err == -EACCES && owner__is_trap(output->path) ? OWNER_TRAP_WORDS
									   : strerror(-err));
	return err;
}
