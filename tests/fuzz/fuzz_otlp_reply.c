/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer of a receiver of OTLP: the first two bytes are the status, the rest is the body. */
#include <stdlib.h>
#include <string.h>

#include "otlp/reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct answer answer;
	struct reply reply;

	if (size < 2)
		return 0;
	answer.status = data[0] | data[1] << 8;
	answer.body_bytes = 0;
	if (answer__body(&answer, data + 2, size - 2))
		return 0;
	reply__read(&answer, &reply);
	if (reply.means >= REPLY_MEANINGS || strlen(reply.message) >= REPLY_MESSAGE_BYTES)
		abort();
	if (reply.means == REPLY_PARTIAL && !reply.rejected)
		abort();
	return 0;
}
