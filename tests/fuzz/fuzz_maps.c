/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of /proc, perf records of the kernel, and ELF headers: nothing may crash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/devices.h"
#include "stacks/events.h"
#include "stacks/headers.h"
#include "stacks/maps.h"
#include "stacks/ranges.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_text(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	struct maps_line line;
	struct maps_stat stat;
	struct devices_mount mount;

	memcpy(text, data, size);
	text[size] = '\0';
	if (!maps__parse(text, &line) && (line.begin >= line.end || strlen(line.path) > size))
		abort();
	(void)maps__parse_stat(text, &stat);
	(void)devices__parse_mount(text, &mount);
	free(text);
}

static void decode_record(const uint8_t *data, size_t size)
{
	uint8_t *record = malloc(size);
	struct event event;

	memcpy(record, data, size);
	if (!events__decode(record, size, &event) && event.kind == EVENT_MMAP &&
	    (event.begin >= event.end || strlen(event.path) > size))
		abort();
	free(record);
}

static void read_headers(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct headers headers;
	uint64_t address;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	if (ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size ||
	    headers__read(fd, &headers))
		return;
	for (size_t i = 0; i < headers.segment_count; i++)
		(void)headers__address(&headers, headers.segments[i].offset, &address);
}

/* Four bytes per range: begin, length, address, module. */
static void put_ranges(const uint8_t *data, size_t size)
{
	struct ranges ranges = { 0 };

	for (size_t i = 0; i + 4 <= size; i += 4) {
		struct range range = {
			.begin = data[i] * 4096UL,
			.end = (data[i] + data[i + 1]) * 4096UL,
			.address = data[i + 2] * 4096UL,
			.module = data[i + 3] % 3,
		};

		(void)ranges__put(&ranges, &range);
	}
	for (size_t i = 0; i < ranges.count; i++) {
		if (ranges.list[i].begin >= ranges.list[i].end || !ranges.list[i].module ||
		    (i && ranges.list[i - 1].end > ranges.list[i].begin))
			abort();
	}
	ranges__release(&ranges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	parse_text(data, size);
	decode_record(data, size);
	read_headers(data, size);
	put_ranges(data, size);
	return 0;
}
