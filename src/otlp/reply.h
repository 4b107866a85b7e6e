/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a receiver's answer to a push means. It may come from a broken or hostile server, or from a
 * proxy that knows nothing of OTLP.
 *
 * Pure. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/answer.h"

enum reply_means {
	REPLY_OK,
	REPLY_PARTIAL,   /* some points or profiles were not taken */
	REPLY_UNREACHED, /* no connection */
	REPLY_LOST,      /* a connection, but no answer */
	REPLY_BUSY,      /* later */
	REPLY_DENIED,    /* token, certificate or rights */
	REPLY_REFUSED,   /* it does not take this */
	REPLY_STRANGE,   /* not an answer of OTLP */
	REPLY_MEANINGS,
};

#define REPLY_MESSAGE_BYTES 128

struct reply {
	enum reply_means means;
	uint64_t rejected;                 /* points or profiles, of REPLY_PARTIAL */
	char message[REPLY_MESSAGE_BYTES]; /* of the receiver, cleaned; "": none */
};

void reply__read(const struct answer *answer, struct reply *ret);
/* "ok", "partial", …: for a label of a metric. */
const char *reply__word(enum reply_means means);
/* Whether the same request may be answered in another way soon. */
bool reply__is_passing(enum reply_means means);
/* Whether a receiver that did not succeed certainly took nothing. */
bool reply__is_certain(enum reply_means means, const struct answer *answer);
