/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests of a compromised helper process: whatever it gets is a regular file, and not to write
 * to. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbol/broker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int fd, uint32_t kind)
{
	char magic[4];
	struct stat info;

	if (fstat(fd, &info) || !S_ISREG(info.st_mode))
		abort();
	if (kind == BROKER_SCRATCH)
		return;
	if ((fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		abort();
	if (kind == BROKER_ELF && (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
				   memcmp(magic, "\177ELF", sizeof(magic)) != 0))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that a sanitizer sees its end. */
	char *bytes = malloc(size ? size : 1);
	uint32_t kind = 0;
	int fd;

	memcpy(bytes, data, size);
	if (size >= sizeof(kind))
		memcpy(&kind, bytes, sizeof(kind));
	fd = broker__serve(bytes, size);
	if (fd >= 0) {
		check(fd, kind);
		close(fd);
	}
	/* There is no server, so nothing that passes the check leads further. */
	if (broker__serve_download(bytes, size) >= 0)
		abort();
	free(bytes);
	return 0;
}
