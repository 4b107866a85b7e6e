/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a struct profile, which exporters draw, from rows of the store: one thread, named after the
 * service, whose samples are sums by stack and state. What the store says is checked: depth,
 * number of nodes and sum of weights are limited as in a profile of a recording.
 */
#pragma once

#include "base/map.h"
#include "model/profile.h"

struct flame_profile {
	struct profile *profile; /* the caller takes it */
	struct map frames;       /* (module, offset): frame + 1 */
	struct map nodes;        /* (parent, frame): stack + 1 */
	struct map modules;      /* module: index + 1 */
	uint64_t total_ns;       /* of all samples */
};

/* One function at a frame. */
struct flame_function {
	const char *name, *file; /* file "": unknown */
	uint32_t line;
};

int flame_profile__begin(struct flame_profile *flame, const char *title, const char *service);
void flame_profile__release(struct flame_profile *flame);

/* Once for each module. -ENOMEM. */
int flame_profile__add_module(struct flame_profile *flame, uint64_t module, const char *kind,
			      const char *path);
/* The functions of a frame, innermost first. A module that is not known is "?". */
int flame_profile__add_frame(struct flame_profile *flame, uint64_t module, uint64_t offset,
			     const struct flame_function *functions, size_t count);
/*
 * Finds or adds the stack with one frame more. A frame without functions is named module+0xoffset.
 * -EMLINK: too deep; -E2BIG: too many.
 */
int flame_profile__descend(struct flame_profile *flame, uint64_t module, uint64_t offset,
			   uint32_t *stack);

struct flame_sample {
	const char *state, *cause;
	enum kind kind;
	uint32_t stack;   /* PROFILE_NONE: none */
	const char *none; /* why there is none; NULL: there is */
	const char *end;  /* why the stack is not complete; NULL: it is */
	uint64_t ns, n;
};
/* Weights beyond 63 bits in all are cut. -ENOMEM. */
int flame_profile__add_sample(struct flame_profile *flame, const struct flame_sample *sample);
