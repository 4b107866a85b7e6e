/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/download.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <elfutils/debuginfod.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "guard/guard.h"
#include "symbol/broker.h"
#include "symbol/cache.h"
#include "symbol/fetch.h"

#define SECOND_NS    UINT64_C(1000000000)
#define MOST_NS      (120 * SECOND_NS) /* of a download */
#define MOST_ALL_NS  (300 * SECOND_NS) /* of all downloads together */
#define STALL_NS     (2 * SECOND_NS)
#define CPU_NS       (60 * SECOND_NS)
#define MEMORY_BYTES (48UL << 20)
#define FILE_BYTES   (UINT64_C(2) << 30)
/* libdebuginfod calls back about once a second during a download. */
#define BEAT_NS (2 * SECOND_NS)
/* How long a download may continue after the user wanted to stop, and until it must have ended. */
#define AFTER_NS  (2 * SECOND_NS)
#define ENDING_NS (2 * SECOND_NS)
#define URL_BYTES 256
#define MOST_URLS 8

/* Memory of both processes. What the other one writes is only shown, or makes it be given up. */
struct shared {
	_Atomic bool stop;
	_Atomic unsigned long beats; /* incremented at each callback of a download */
	_Atomic long done, total;
	char url[URL_BYTES];
};

struct download {
	struct download_options options;
	struct helper *helper;
	struct shared *shared;
	bool is_off;     /* no further downloads */
	bool has_failed; /* that is why */
	uint64_t spent_ns, ended, unanswered;
	/* Of the current download: */
	uint64_t began_ns, beat_ns, said_ns;
	uint64_t stop_ns;    /* when it was told to end; 0: it was not */
	unsigned long beats; /* last seen value of shared->beats */
	/* Of all of them: */
	uint64_t interrupted_ns; /* when the interrupt was first seen; 0: not yet */
};

/* --- in the process that downloads ------------------------------------------------------------ */

static bool note(void *context, const char *url, long done, long total)
{
	struct shared *shared = context;

	/* The URL is known only after a server responded. */
	snprintf(shared->url, sizeof(shared->url), "%s", url ? url : "");
	shared->done = done;
	shared->total = total;
	shared->beats++;
	return !shared->stop;
}

static int serve(void *context, const struct helper_parcel *question, struct helper_parcel *answer)
{
	struct download *download = context;
	int fd;

	close_p(&question->fd);
	fetch__observe(note, download->shared);
	fd = broker__serve_download(question->bytes, question->size);
	if (fd < 0)
		return fd;
	answer->fd = fd;
	return 0;
}

/* Folders of file:// URLs, as paths in `urls`, which is changed. */
static void add_folders(char *urls, const char **list, size_t most)
{
	char *rest = urls, *url;
	size_t count = 0;

	while (count < most && (url = strtok_r(rest, " ", &rest)))
		if (!strncmp(url, "file://", 7))
			list[count++] = url + 7;
}

static int confine(void *context)
{
	/* To look up names and to check certificates. Not /etc as a whole, which has secrets. */
	static const char *const fixed[] = { "/etc/resolv.conf",
					     "/etc/hosts",
					     "/etc/host.conf",
					     "/etc/nsswitch.conf",
					     "/etc/gai.conf",
					     "/etc/services",
					     "/etc/ld.so.cache",
					     "/etc/localtime",
					     "/etc/ssl/certs",
					     "/etc/ssl/openssl.cnf",
					     "/etc/ca-certificates",
					     "/etc/pki/ca-trust",
					     "/etc/pki/tls/certs",
					     "/etc/gnutls",
					     "/etc/crypto-policies",
					     "/run/systemd/resolve",
					     "/usr",
					     "/lib",
					     "/lib64",
					     "/dev/null",
					     "/dev/urandom" };
	static const char *const named[] = { "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
					     "DEBUGINFOD_HEADERS_FILE",
					     "DEBUGINFOD_IMA_CERT_PATH" };
	enum { FIXED = sizeof(fixed) / sizeof(*fixed), NAMED = sizeof(named) / sizeof(*named) };
	const char *readable[FIXED + NAMED + MOST_URLS + 1] = {}, *urls = getenv("DEBUGINFOD_URLS");
	struct guard_options options = { .readable = readable };
	char folder[PATH_MAX], copy[4096];
	size_t count = FIXED;

	memcpy(readable, fixed, sizeof(fixed));
	for (size_t i = 0; i < NAMED; i++)
		if (getenv(named[i]))
			readable[count++] = getenv(named[i]);
	if (urls && snprintf(copy, sizeof(copy), "%s", urls) < (int)sizeof(copy))
		add_folders(copy, readable + count, MOST_URLS);
	/* Without a folder for them, downloads fail. */
	if (!cache__prepare(folder))
		options.writable = folder;
	return guard__drop(GUARD_FETCHER, &options);
}

/* --- in the process that waits ---------------------------------------------------------------- */

static void say(struct download *download, uint64_t now_ns)
{
	const struct shared *shared = download->shared;
	char url[URL_BYTES];

	if (!*shared->url || !download->options.say || now_ns - download->said_ns <= SECOND_NS)
		return;
	download->said_ns = now_ns;
	memcpy(url, shared->url, sizeof(url));
	url[sizeof(url) - 1] = '\0';
	/* A server chooses where it redirects to, and the text goes to a terminal. */
	for (char *at = url; *at; at++)
		if (!isascii(*at) || !isprint(*at))
			*at = '?';
	download->options.say(url, shared->done, shared->total);
}

/* Whether it must end. It gets some time for that, to remove its temporary files. */
static bool is_over(struct download *download, uint64_t now_ns)
{
	uint64_t took_ns = now_ns - download->began_ns;

	if (!download->interrupted_ns && download->options.is_interrupted &&
	    download->options.is_interrupted())
		download->interrupted_ns = now_ns;
	return took_ns > MOST_NS || took_ns + download->spent_ns > MOST_ALL_NS ||
	       (download->interrupted_ns && now_ns - download->interrupted_ns > AFTER_NS);
}

static int look(void *context)
{
	struct download *download = context;
	uint64_t now_ns = clock__now_ns();
	unsigned long beats = download->shared->beats;

	if (beats != download->beats) {
		download->beats = beats;
		download->beat_ns = now_ns;
	}
	if (!download->stop_ns && is_over(download, now_ns)) {
		download->stop_ns = now_ns;
		download->shared->stop = true;
	}
	if (download->stop_ns && now_ns - download->stop_ns > ENDING_NS)
		return -ECANCELED;
	say(download, now_ns);
	return now_ns - download->beat_ns < BEAT_NS;
}

int download__new(const struct download_options *options, struct download **ret)
{
	struct download *download = calloc(1, sizeof(*download));
	const struct helper_work work = { .name = "gapless-fetch",
					  .memory_bytes = MEMORY_BYTES,
					  .file_bytes = FILE_BYTES,
					  .serve = serve,
					  .context = download,
					  .confine = confine };
	void *shared;
	int err = download ? helper__new(&work, &download->helper) : -ENOMEM;

	if (err) {
		free(download);
		return err;
	}
	download->options = *options;
	download->is_off = !fetch__has_server(options->no_debuginfod);
	shared = mmap(NULL, sizeof(*download->shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		download__free(download);
		return -ENOMEM;
	}
	download->shared = shared;
	*ret = download;
	return 0;
}

void download__free(struct download *download)
{
	if (!download)
		return;
	helper__free(download->helper);
	if (download->shared)
		munmap(download->shared, sizeof(*download->shared));
	free(download);
}

bool download__is_file(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat stat;

	return flags >= 0 && (flags & O_ACCMODE) == O_RDONLY && !(flags & O_PATH) &&
	       !fstat(fd, &stat) && S_ISREG(stat.st_mode);
}

static int ask(struct download *download, const struct helper_parcel *request)
{
	const struct helper_patience patience = { .stall_ns = STALL_NS,
						  .in_full = true,
						  .cpu_ns = CPU_NS,
						  .look = look,
						  .context = download };
	struct helper_parcel answer = { .fd = -1 };
	int err;

	download->began_ns = download->beat_ns = clock__now_ns();
	download->stop_ns = 0;
	memset(download->shared, 0, sizeof(*download->shared));
	download->beats = 0;
	err = helper__ask(download->helper, request, &patience, &answer);
	download->spent_ns += clock__now_ns() - download->began_ns;
	if (err)
		return err;
	free(answer.bytes);
	if (answer.fd < 0)
		return -EMFILE;
	if (download__is_file(answer.fd))
		return answer.fd;
	close(answer.fd);
	return -EBADMSG;
}

int download__provide(struct download *download, const struct helper_parcel *request)
{
	int fd = download->is_off ? -ENOENT : ask(download, request);

	download->unanswered += download->has_failed;
	if (fd >= 0 || fd == -ENOENT)
		return fd;
	/* A try may take a minute and a half, and there are many files. */
	download->is_off = download->has_failed = true;
	download->unanswered++;
	download->ended += fd == -ECANCELED || fd == -ETIMEDOUT || fd == -EPIPE || fd == -EBADMSG;
	return -ENOENT;
}

uint64_t download__ended(const struct download *download)
{
	return download->ended;
}

uint64_t download__unanswered(const struct download *download)
{
	return download->unanswered;
}
