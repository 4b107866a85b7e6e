/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "symbol/foreign.h"

#define MOST_BYTES (UINT32_C(1) << 30)

/* The table has no sizes. An address further behind a symbol than this does not belong to it. */
#define MOST_FUNCTION_BYTES (1 << 20)

/* Lower addresses are in user space, offsets of per-CPU variables, or hidden. */
#define KERNEL_STARTS (UINT64_C(1) << 63)

void kallsyms__release(struct kallsyms *kallsyms)
{
	symtab__release(&kallsyms->tab);
	free(kallsyms->text);
	*kallsyms = (struct kallsyms) {};
}

/* Adds one line, which ends with 0. -ENOMEM. */
static int add_line(struct symtab *tab, char *line)
{
	char *end, *name, *owner;
	uint64_t start = strtoull(line, &end, 16);
	char type;
	int err;

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return 0;
	type = end[1];
	if (start < KERNEL_STARTS || type == 'a' || type == 'A')
		return 0;
	name = end + 3;
	owner = strchr(name, '\t');
	if (owner)
		*owner++ = '\0';
	err = symtab__add(
		tab,
		&(struct symtab_entry) {
			.start = start,
			.end = start > UINT64_MAX - MOST_FUNCTION_BYTES
				       ? UINT64_MAX
				       : start + MOST_FUNCTION_BYTES,
			.name = strchr("tTwW", type) ? name : NULL,
			.owner = owner,
			.rank = strchr("tTwW", type) ? symtab__rank(name, true, true, false) : 0,
			.is_open = true,
		});
	return err == -ENOMEM ? err : 0;
}

int kallsyms__parse(char *text, size_t size, struct kallsyms *ret)
{
	struct kallsyms kallsyms = {};
	char *end = text + size;
	int err = 0;

	for (char *line = text; line < end && !err;) {
		char *line_end = memchr(line, '\n', (size_t)(end - line));

		if (!line_end)
			line_end = end;
		*line_end = '\0';
		err = add_line(&kallsyms.tab, line);
		line = line_end + 1;
	}
	if (!err)
		err = symtab__seal(&kallsyms.tab);
	if (err) {
		kallsyms__release(&kallsyms);
		return err;
	}
	kallsyms.text = text;
	*ret = kallsyms;
	return 0;
}

int kallsyms__read(const char *path, struct kallsyms *ret)
{
	cleanup(close_p) int fd = open(path, O_RDONLY | O_CLOEXEC);
	cleanup(free_p) char *text = NULL;
	size_t size;
	int err;

	if (fd < 0)
		return -errno;
	err = foreign__read(fd, MOST_BYTES, &text, &size);
	if (!err)
		err = kallsyms__parse(text, size, ret);
	if (!err)
		text = NULL;
	return err;
}
