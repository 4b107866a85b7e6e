/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The row compiler. The input is tried as a whole file, and as one section of an otherwise valid
 * file: .eh_frame, .debug_frame or Go's function table. If the compiler succeeds, the tables must
 * be valid for a walk.
 */
#include "../frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void compile(const void *image, size_t size)
{
	struct rows rows = {};

	if (rows__compile_image(image, size, &rows)) {
		if (rows.row_pages || rows.block_pages)
			abort();
		return;
	}
	if (!is_sane_table(&rows))
		abort();
	rows__release(&rows);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame_section section;
	static struct bytes image;

	compile(data, size);
	if (!size)
		return 0;
	section.is_debug = data[0] == 1;
	section.address = 0x6000;
	section.bytes.size = 0;
	put(&section.bytes, data + 1, size - 1);
	make_go_image(&image, 0x1000, 0x5000, 0x1000, data[0] ? NULL : &section,
		      section.is_debug ? &section : NULL, data[0] > 1 ? &section : NULL);
	compile(image.at, image.size);
	return 0;
}
