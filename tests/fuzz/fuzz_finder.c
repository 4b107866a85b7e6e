/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ELF files with any symbols and notes of probes; what users write after --function and --usdt. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/uprobes.h"
#include "symbol/name_pattern.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct finder_place *place)
{
	if (place->offset > INT64_MAX || place->cost > INSTRUCTION_STEPPED ||
	    place->argument_count > USDT_MOST_ARGUMENTS ||
	    !memchr(place->name, 0, sizeof(place->name)) ||
	    !memchr(place->text, 0, sizeof(place->text)))
		abort();
}

static void search(int fd, enum finder_kind kind)
{
	const struct finder_question question = { .kind = kind, .pattern = "*", .at = 0x1000 };
	struct finder_place *places = NULL;
	size_t count = 0;
	bool more;

	if (finder__search(fd, &question, &places, &count, &more))
		return;
	for (size_t i = 0; i < count; i++)
		check(&places[i]);
	free(places);
}

static void parse(const char *text)
{
	struct usdt_argument arguments[USDT_MOST_ARGUMENTS];
	struct uprobe_spec spec;

	(void)uprobes__parse(text, &spec);
	(void)uprobes__parse_usdt(text, &spec);
	if (usdt__arguments(text, arguments) > USDT_MOST_ARGUMENTS)
		abort();
	(void)name_pattern__matches("a*b::c(*", text, text);
	(void)name_pattern__matches("*a", "x", text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char *text = malloc(size + 1);
	struct usdt_note note;
	size_t at = 0;

	if (fd < 0 || !text || write(fd, data, size) != (ssize_t)size)
		abort();
	memcpy(text, data, size);
	text[size] = '\0';
	for (int kind = FINDER_FUNCTIONS; kind <= FINDER_PROBES; kind++)
		search(fd, (enum finder_kind)kind);
	while (usdt__next(data, size, &at, &note) >= 0)
		;
	parse(text);
	free(text);
	close(fd);
	return 0;
}
