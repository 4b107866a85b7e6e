/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What leaves the machine about names and paths. See base/redact.h for arguments of programs. */
#include <ctype.h>
#include <string.h>

#include "base/numbers.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "identity/identity.h"

#define COMM_LENGTH 15 /* the kernel's TASK_COMM_LEN without the terminator */
#define PARTS       2

void identity__clean(char *text)
{
	utf8__sanitize(text);
	for (; *text; text++)
		if (*text == '\n' || *text == '\t')
			*text = '?';
}

/* "python3.11", "mariadb10": short numbers that belong to a program's name. */
static bool is_release(const char *begin, const char *at, size_t length)
{
	if (length > 2 || at == begin)
		return false;
	return isalpha((unsigned char)at[-1]) ||
	       (at[-1] == '.' && at - 1 > begin && isdigit((unsigned char)at[-2]));
}

/* As strbuf__add(), without a format: each thread's name comes here with each snapshot. */
static void add(struct strbuf *to, const char *text, size_t length)
{
	size_t room = to->size - to->length - 1;

	if (length > room)
		length = room;
	memcpy(to->text + to->length, text, length);
	to->length += length;
	to->text[to->length] = '\0';
}

/* A number can have dashes, as in a UUID; those at its ends stay. */
static void add_star(struct strbuf *to, const char *number, size_t length)
{
	if (*number == '-')
		add(to, "-", 1);
	if (!to->length || to->text[to->length - 1] != '*')
		add(to, "*", 1);
	if (length > 1 && number[length - 1] == '-')
		add(to, "-", 1);
}

/* Adds a text, with a star for each number in it. */
static void add_folded(struct strbuf *to, const char *text, size_t length, bool keeps_releases)
{
	char part[256];
	bool is_number;
	size_t token;

	if (length >= sizeof(part))
		length = sizeof(part) - 1;
	memcpy(part, text, length);
	part[length] = '\0';
	if (!strpbrk(part, "0123456789")) {
		add(to, part, length);
		return;
	}
	for (const char *at = part; *at; at += token) {
		token = numbers__token(at, &is_number);
		if (is_number && !(keeps_releases && is_release(part, at, token)))
			add_star(to, at, token);
		else
			add(to, at, token);
	}
}

void identity__fold_name(const char *name, char *ret, size_t size)
{
	struct strbuf to = { ret, size };
	size_t length = strlen(name);

	*ret = '\0';
	add_folded(&to, name, length, false);
	if (length == COMM_LENGTH && strchr("-_#:/.", name[length - 1]))
		add(&to, "*", 1);
	identity__clean(ret);
}

void identity__fold_process(const char *name, char *ret, size_t size)
{
	struct strbuf to = { ret, size };

	*ret = '\0';
	add_folded(&to, name, strlen(name), true);
	identity__clean(ret);
}

void identity__fold_path(const char *path, const char *mount, char *ret, size_t size)
{
	struct strbuf to = { ret, size };
	size_t above = strlen(mount);

	while (above && mount[above - 1] == '/')
		above--;
	*ret = '\0';
	/* The mount point is a part of the machine's configuration and may have numbers too. */
	if (!strncmp(path, mount, above) && (path[above] == '/' || !path[above])) {
		add_folded(&to, path, above, false);
		path += above;
	}
	for (int part = 0; part < PARTS && *path; part++) {
		size_t slashes = strspn(path, "/"), length = strcspn(path + slashes, "/");

		if (slashes && (length || !part))
			add(&to, "/", 1);
		add_folded(&to, path + slashes, length, false);
		path += slashes + length;
	}
	if (path[strspn(path, "/")])
		add(&to, "/*", 2);
	identity__clean(ret);
}
