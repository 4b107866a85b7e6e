/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What framer.c asks and framer_served.c answers. Internal to both. */
#pragma once

#include <stdint.h>

#include "base/helper.h"
#include "base/map.h"

enum question_kind {
	ASK_FILE,
	ASK_MEMORY,
	ASK_MAPS,
	ASK_FORGET,
	ASK_OPEN,
	ASK_REFINE,
	ASK_NAMES,
	ASK_FIBERS,
	ASK_ALLOCATED,
};

/* A path or frames follow. */
struct question {
	uint32_t kind, pid;
	uint32_t file, count;
	uint64_t bias;
};

/* Of one frame; `count` functions follow. */
struct name_head {
	uint32_t index;
	int32_t count;
};

/* The texts follow, each with a NUL. */
struct function_head {
	int32_t line, first_line;
	uint32_t function_bytes, file_bytes;
};

struct framer {
	struct helper *helper;
	/* Used only in the helper process: */
	struct map files;    /* by key: struct runtime_file */
	struct map subjects; /* by pid: struct subject */
};

/* A helper_serve_fn; its context is a struct framer. */
int framer__serve(void *context, const struct helper_parcel *parcel, struct helper_parcel *answer);
