/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "runtimes/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES 256

struct remote {
	int fd;
	uint64_t reads;
};

int remote__new(int fd, struct remote **ret)
{
	struct remote *memory = calloc(1, sizeof(*memory));

	if (!memory) {
		close(fd);
		return -ENOMEM;
	}
	memory->fd = fd;
	*ret = memory;
	return 0;
}

void remote__free(struct remote *memory)
{
	if (!memory)
		return;
	close(memory->fd);
	free(memory);
}

int remote__read(struct remote *memory, uint64_t address, void *to, size_t size)
{
	memory->reads++;
	if (address > INT64_MAX || size > INT64_MAX - address)
		return -EFAULT;
	return pread(memory->fd, to, size, (off_t)address) == (ssize_t)size ? 0 : -EFAULT;
}

int remote__read_u64(struct remote *memory, uint64_t address, uint64_t *ret)
{
	uint64_t value;
	int err = remote__read(memory, address, &value, sizeof(value));

	if (!err)
		*ret = value;
	return err;
}

int remote__read_u32(struct remote *memory, uint64_t address, uint32_t *ret)
{
	uint32_t value;
	int err = remote__read(memory, address, &value, sizeof(value));

	if (!err)
		*ret = value;
	return err;
}

/* In pieces that do not cross a border of PIECE_BYTES, because the next page may not be there. */
int remote__read_text(struct remote *memory, uint64_t address, char *to, size_t size)
{
	size_t done = 0;

	while (done + 1 < size) {
		size_t room = size - 1 - done;
		size_t piece = PIECE_BYTES - address % PIECE_BYTES;
		const char *end;

		piece = piece < room ? piece : room;
		if (remote__read(memory, address, to + done, piece))
			return -EFAULT;
		end = memchr(to + done, '\0', piece);
		if (end)
			return (int)(end - to);
		done += piece;
		address += piece;
	}
	to[done] = '\0';
	return (int)done;
}

uint64_t remote__reads(const struct remote *memory)
{
	return memory->reads;
}
