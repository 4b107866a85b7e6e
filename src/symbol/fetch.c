/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/fetch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <elfutils/debuginfod.h>

#include "base/cleanup.h"

/* A server can send without end. The debug information of browsers has 1 to 2 GB. */
#define MOST_BYTES (2L << 30)

/* libdebuginfod keeps its connections in it. */
static debuginfod_client *client;
static bool (*note)(void *context, const char *url, long done, long total);
static void *note_context;
static bool is_over; /* the download is being aborted */

bool fetch__has_server(bool no_debuginfod)
{
	const char *urls = getenv(DEBUGINFOD_URLS_ENV_VAR);

	return !no_debuginfod && urls && *urls;
}

void fetch__observe(bool (*on_progress)(void *context, const char *url, long done, long total),
		    void *context)
{
	note = on_progress;
	note_context = context;
}

static int on_progress(debuginfod_client *asked, long done, long total)
{
	is_over = done > MOST_BYTES || total > MOST_BYTES;
	if (!is_over && note)
		is_over = !note(note_context, debuginfod_get_url(asked), done, total);
	return is_over;
}

static int begin(void)
{
	if (!client)
		client = debuginfod_begin();
	if (!client)
		return -ENOMEM;
	debuginfod_set_progressfn(client, on_progress);
	return 0;
}

int fetch__debug_file(const char *build_id)
{
	cleanup(free_p) char *path = NULL;
	int fd, err = fetch__has_server(false) ? begin() : -ENOENT;

	if (err)
		return err;
	is_over = false;
	fd = debuginfod_find_debuginfo(client, (const unsigned char *)build_id, 0, &path);
	if (fd < 0)
		return is_over ? -ECANCELED : fd;
	/* That descriptor can be for writing too, and later downloads would find what was written.
	 */
	close(fd);
	fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
	return fd < 0 ? -EIO : fd;
}

void fetch__release(void)
{
	if (client)
		debuginfod_end(client);
	client = NULL;
}
