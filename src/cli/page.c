/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/page.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/words.h"
#include "page/html.h"

struct page {
	char *bytes;
	size_t size;
};

static void page__release(struct page *page)
{
	free(page->bytes);
}

/*
 * Builds the page in memory, because its size is limited. Any failure here is due to the recording,
 * and the output is not touched until the page exists.
 */
static int make(const char *path, const struct model_options *options, json_t *diff,
		struct page *ret)
{
	FILE *out = open_memstream(&ret->bytes, &ret->size);
	bool full;
	int err;

	if (!out)
		return -errno;
	err = html__write(path, options, diff, out);
	full = ferror(out);
	return fclose(out) || full ? -ENOMEM : err;
}

static int put(FILE *out, void *context)
{
	const struct page *page = context;

	return fwrite(page->bytes, 1, page->size, out) == page->size ? 0 : -EIO;
}

int page__write(const char *path, const struct model_options *options, json_t *diff,
		const struct output *output)
{
	cleanup(page__release) struct page page = {};
	int err;

	if (!html__is_built()) {
		log_error("this gapless was built without the page [meson setup -Dui=enabled, "
			  "which needs Node; or 'gapless report' for the text]");
		return 1;
	}
	if (output__is_recording(output))
		return 1;
	err = make(path, options, diff, &page);
	if (err) {
		log_error("'%s': %s", words__clean(path, WORDS_MOST_COLUMNS).text,
			  scope__why(&options->scope, err));
		return 1;
	}
	if (output__write(output, put, &page))
		return 1;
	if (!output__is_stdout(output))
		log_info("the page is in '%s'",
			 words__clean(output->path, WORDS_MOST_COLUMNS).text);
	return 0;
}
