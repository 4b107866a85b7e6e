/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker's half of code_wire.h: what a frame is in, asked for once and remembered. A supervisor
 * that does not answer costs less than 100 ms of waiting in ten seconds. One thread only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Code that frames are in. Strings belong to the client. */
struct code_module {
	uint64_t hash;    /* of the build-id, or of path and size (fold/sampling.h) */
	const char *kind; /* "elf", "file" (without build-id), "vdso", "kernel" or "jit" */
	char *build_id, *path;
	uint64_t size;
	uint64_t base;       /* of a part of the kernel */
	uint64_t checked_ns; /* when the supervisor said that it is there */
	bool is_gone;        /* a module of the kernel that was unloaded */
	uint32_t id;         /* of the mapper; 0: none */
	uint64_t used_ns, told_ns;
	uint64_t first_seen_s;
	bool is_late; /* stands for code that the supervisor did not name in time; ask again later
		       */
};

struct code_client;

/* `fd` belongs to the client from now on. */
int code_client__new(int fd, struct code_client **ret);
void code_client__free(struct code_client *client);

/*
 * The module of a frame (bpf/stack.h), and the offset in it: the address in the ELF file, or the
 * offset from the begin of the kernel's text. Code without a file has a module too, and offset 0.
 * Never NULL; valid until code_client__forget().
 */
struct code_module *code_client__find(struct code_client *client, uint64_t frame,
				      uint64_t *ret_offset);

/* The module of all frames of a process whose mappings are not known yet. */
struct code_module *code_client__unmapped(struct code_client *client);

/* How many modules of the kernel are known to be gone, so far. */
uint64_t code_client__gone(const struct code_client *client);

/* Marks a module as used, and tells the supervisor, at most once a second. */
void code_client__use(struct code_client *client, struct code_module *module, uint64_t now_ns);
/* Forgets modules that were not used since. No stack may refer to them. */
void code_client__forget(struct code_client *client, uint64_t before_ns);

/* After a minute without samples: forgets all modules, here and there. No stack may refer to them.
 */
void code_client__rest(struct code_client *client);

/*
 * Begins or ends sampling. It may happen later, but what was asked for last is done last. After a
 * failure, the same wish is sent again.
 */
void code_client__sample(struct code_client *client, bool on);
/* Why sampling is not as it was asked for: -errno; 0: it is, or the answer is not late yet. */
int code_client__problem(const struct code_client *client);
/* Whether the supervisor samples, as far as it has answered; for how long until now, in all. */
bool code_client__is_on(const struct code_client *client);
uint64_t code_client__on_ns(const struct code_client *client, uint64_t now_ns);
/* After each step: takes late answers, and sends what could not be sent. */
void code_client__step(struct code_client *client);
/* The CPU time of the supervisor and its helpers, and the memory of unwind tables. 0 or -errno. */
int code_client__cost(struct code_client *client, uint64_t *ret_cpu_ns, uint64_t *ret_bytes);

/* Frames in code without a file, and frames whose file was not named in time, so far. */
uint64_t code_client__anonymous(const struct code_client *client);
uint64_t code_client__unanswered(const struct code_client *client);
