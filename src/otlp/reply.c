/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of an answer is ExportMetricsServiceResponse { partial_success = 1 }, or the same for
 * profiles, with the status 200, else google.rpc.Status { code = 1, message = 2 }. All are read
 * with the same decoder, which keeps one number and one text. Many receivers answer failures in
 * plain text instead; Pyroscope answers with JSON, and with nothing to what it took.
 */
#include "otlp/reply.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

enum { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_FIXED32 = 5 };
enum { RESPONSE_PARTIAL = 1 };
/* Of partial_success; those of Status are the same. */
enum { FIELD_NUMBER = 1, FIELD_TEXT = 2 };

static const char *const words[REPLY_MEANINGS] = {
	[REPLY_OK] = "ok",           [REPLY_PARTIAL] = "partial", [REPLY_UNREACHED] = "unreached",
	[REPLY_LOST] = "lost",       [REPLY_BUSY] = "busy",       [REPLY_DENIED] = "denied",
	[REPLY_REFUSED] = "refused", [REPLY_STRANGE] = "strange",
};

const char *reply__word(enum reply_means means)
{
	return words[means];
}

bool reply__is_passing(enum reply_means means)
{
	return means == REPLY_BUSY || means == REPLY_LOST || means == REPLY_UNREACHED;
}

/* 502 and 504 are a proxy's, which does not know what the receiver behind it did. */
bool reply__is_certain(enum reply_means means, const struct answer *answer)
{
	return means == REPLY_UNREACHED ||
	       (means == REPLY_BUSY && (answer->status == 429 || answer->status == 503));
}

/* --- protocol buffers ------------------------------------------------------------------------- */

struct bytes {
	const unsigned char *at;
	size_t size;
};

struct field {
	uint64_t tag;       /* number << 3 | wire type */
	uint64_t number;    /* of WIRE_VARINT */
	struct bytes bytes; /* of WIRE_BYTES */
};

static int skip(struct bytes *from, uint64_t size, struct bytes *ret)
{
	if (size > from->size)
		return -EBADMSG;
	*ret = (struct bytes) { from->at, (size_t)size };
	from->at += size;
	from->size -= (size_t)size;
	return 0;
}

static int read_varint(struct bytes *from, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		struct bytes byte;

		if (skip(from, 1, &byte))
			return -EBADMSG;
		value |= (uint64_t)(*byte.at & 0x7f) << shift;
		if (!(*byte.at & 0x80)) {
			*ret = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int read_field(struct bytes *from, struct field *ret)
{
	struct field field = {};
	uint64_t size;
	int err = read_varint(from, &field.tag);

	if (err || field.tag >> 3 == 0)
		return -EBADMSG;
	switch (field.tag & 7) {
	case WIRE_VARINT:
		err = read_varint(from, &field.number);
		break;
	case WIRE_FIXED64:
		err = skip(from, 8, &field.bytes);
		break;
	case WIRE_FIXED32:
		err = skip(from, 4, &field.bytes);
		break;
	case WIRE_BYTES:
		err = read_varint(from, &size);
		if (!err)
			err = skip(from, size, &field.bytes);
		break;
	default:
		err = -EBADMSG;
	}
	if (!err)
		*ret = field;
	return err;
}

/* A message is one line; what controls a display becomes '?'. */
static void copy_message(struct bytes text, char ret[static REPLY_MESSAGE_BYTES])
{
	size_t size = text.size;

	while (size && text.at[size - 1] <= ' ')
		size--;
	if (size > REPLY_MESSAGE_BYTES - 1)
		size = REPLY_MESSAGE_BYTES - 1;
	for (size_t i = 0; i < size; i++)
		ret[i] = text.at[i] >= ' ' ? (char)text.at[i] : '?';
	ret[size] = '\0';
	utf8__sanitize(ret);
}

/* A signed number of a stranger: nothing is negative, and sums must not overflow. */
static uint64_t read_rejected(uint64_t number)
{
	if (number > INT64_MAX)
		return 0;
	return number < UINT32_MAX ? number : UINT32_MAX;
}

static int read_message(struct bytes from, struct reply *reply)
{
	while (from.size) {
		struct field field;

		if (read_field(&from, &field))
			return -EBADMSG;
		if (field.tag == (FIELD_NUMBER << 3 | WIRE_VARINT))
			reply->rejected = read_rejected(field.number);
		else if (field.tag == (FIELD_TEXT << 3 | WIRE_BYTES))
			copy_message(field.bytes, reply->message);
	}
	return 0;
}

static int read_response(struct bytes from, struct reply *reply)
{
	while (from.size) {
		struct field field;

		if (read_field(&from, &field))
			return -EBADMSG;
		if (field.tag == (RESPONSE_PARTIAL << 3 | WIRE_BYTES) &&
		    read_message(field.bytes, reply))
			return -EBADMSG;
	}
	return 0;
}

/* --- meanings --------------------------------------------------------------------------------- */

static enum reply_means means_of_status(int status)
{
	switch (status) {
	case 401:
	case 403:
	case 407:
		return REPLY_DENIED;
	case 408:
	case 429:
	case 502:
	case 503:
	case 504:
		return REPLY_BUSY;
	case 404:
	case 405:
		return REPLY_STRANGE; /* there is no receiver at this address */
	default:
		return status >= 400 && status < 600 ? REPLY_REFUSED : REPLY_STRANGE;
	}
}

/* A receiver may warn in `message` and take all points. */
static enum reply_means means_of_success(struct bytes body, struct reply *reply)
{
	if (read_response(body, reply)) {
		copy_message(body, reply->message);
		return REPLY_STRANGE;
	}
	return reply->rejected ? REPLY_PARTIAL : REPLY_OK;
}

void reply__read(const struct answer *answer, struct reply *ret)
{
	struct bytes body = { (const unsigned char *)answer->body, answer->body_bytes };
	struct reply reply = {};

	if (answer->error) {
		reply.means = answer->unreached ? REPLY_UNREACHED : REPLY_LOST;
		snprintf(reply.message, sizeof(reply.message), "%s", strerror(-answer->error));
	} else if (answer->status >= 200 && answer->status < 300) {
		reply.means = means_of_success(body, &reply);
	} else {
		reply.means = means_of_status(answer->status);
		if (read_message(body, &reply) || !*reply.message)
			copy_message(body, reply.message);
	}
	if (reply.means != REPLY_PARTIAL)
		reply.rejected = 0;
	*ret = reply;
}
