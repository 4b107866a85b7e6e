/*
 * Between libbpf and the rest: picks for each hook the first alternative that this kernel delivers,
 * keeps libbpf's words, and says in one sentence why something did not load.
 */
#pragma once

#include <bpf/libbpf.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "core/features.h"
#include "core/hooks.h"

/* What became of a hook on this machine. */
struct hook_use {
	const char *event;
	unsigned flags;      /* of the hook */
	const char *program; /* NULL: none of the alternatives works here */
	const char *kind;    /* "tp_btf", "raw_tp", … of the one chosen */
	char why_not[256];   /* why better alternatives were passed over, "" if none was */
};

/*
 * Takes over libbpf's output: shown at debug, else kept so that loader__replay() can show it once
 * something failed. Call once, early; loader__forget() before each attempt.
 */
void loader__capture_log(void);
void loader__forget(void);
void loader__replay(void);

/* The last line that libbpf called a warning since loader__forget(), "" if none. */
const char *loader__last_warning(void);

/*
 * Decides for every hook (the list ends with a NULL event) which program serves it and sets
 * autoload of all its alternatives accordingly. ret[] has room for one result per hook. Returns
 * how many hooks found a program.
 */
int loader__choose(struct bpf_object *object, const struct hook *hooks, struct features *features,
		   struct hook_use *ret);

/* {name: max_entries} of all maps of a loaded object. The caller owns it. */
json_t *loader__map_sizes(const struct bpf_object *object);

/* How often and how long programs ran while the kernel timed them, as it says. */
struct loader_runs {
	uint64_t calls, call_ns; /* at the begin and end of syscalls */
	uint64_t others, other_ns;
	size_t call_programs; /* how many there are of the former */
};
/* Adds those of all programs of a loaded object. */
void loader__add_runs(const struct bpf_object *object, struct loader_runs *to);

/* Of all its programs: how often the kernel did not run one, because it was in one already. */
uint64_t loader__recursion_misses(const struct bpf_object *object);

/* The kernel's hash of a program as it was loaded, 16 hex digits; "" if it was not. */
#define LOADER_TAG_BYTES 17
void loader__tag(const struct bpf_object *object, const char *program, char ret[LOADER_TAG_BYTES]);
