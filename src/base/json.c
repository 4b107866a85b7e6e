/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Length of the UTF-8 character at `at`, 0 if it is invalid. jansson checks the validity. */
static size_t character_length(const char *at)
{
	unsigned char first = (unsigned char)*at;
	size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	json_t *probe = NULL;

	if (strnlen(at, length) < length)
		return 0;
	probe = json_stringn(at, length);
	json_decref(probe);
	return probe ? length : 0;
}

json_t *json__text(const char *bytes)
{
	cleanup(free_p) char *escaped = NULL;
	json_t *plain = json_string(bytes);
	char *to;

	if (plain)
		return plain;
	to = escaped = malloc(strlen(bytes) * 4 + 1);
	if (!escaped)
		return NULL;
	while (*bytes) {
		size_t length = character_length(bytes);

		if (length) {
			memcpy(to, bytes, length);
			to += length;
			bytes += length;
		} else {
			to += sprintf(to, "\\x%02x", (unsigned char)*bytes++);
		}
	}
	*to = '\0';
	return json_string(escaped);
}

json_t *json__versioned(json_t *object)
{
	json_t *ret = json_pack("{s:i}", "format", JSON_FORMAT);

	if (!object || !ret || json_object_update(ret, object)) {
		json_decref(ret);
		ret = NULL;
	}
	json_decref(object);
	return ret;
}
