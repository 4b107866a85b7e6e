/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/cleanup.h"

#define LEVEL       6
#define WITH_HEADER (15 + 16) /* the largest window, and a gzip header */

int gzip__write(const void *bytes, size_t size, FILE *out)
{
	unsigned char piece[32768] = {};
	const unsigned char *at = bytes;
	z_stream stream = {};
	int rc;

	if (deflateInit2(&stream, LEVEL, Z_DEFLATED, WITH_HEADER, 8, Z_DEFAULT_STRATEGY))
		return -ENOMEM;
	do {
		/* zlib's counters have 32 bits. */
		if (!stream.avail_in) {
			stream.next_in = (unsigned char *)at;
			stream.avail_in = size > (1u << 30) ? 1u << 30 : (unsigned int)size;
			at += stream.avail_in;
			size -= stream.avail_in;
		}
		stream.next_out = piece;
		stream.avail_out = sizeof(piece);
		rc = deflate(&stream, size ? Z_NO_FLUSH : Z_FINISH);
		if (fwrite(piece, 1, sizeof(piece) - stream.avail_out, out) !=
		    sizeof(piece) - stream.avail_out)
			rc = Z_ERRNO;
	} while (rc == Z_OK);
	deflateEnd(&stream);
	return rc == Z_STREAM_END ? 0 : -EIO;
}

int gzip__pack(const void *bytes, size_t size, char **ret, size_t *ret_size)
{
	cleanup(free_p) char *packed = NULL;
	size_t packed_size;
	FILE *out = open_memstream(&packed, &packed_size);
	int err;

	if (!out)
		return -ENOMEM;
	err = gzip__write(bytes, size, out);
	if (fclose(out) && !err)
		err = -ENOMEM;
	if (err)
		return err;
	*ret = TAKE(packed);
	*ret_size = packed_size;
	return 0;
}
