/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Part runtime: what language runtimes do on their own, by probes in their code. All kinds of
 * runtimes share one program: a site says what a hit there means (runtime_sites.c).
 *
 * A pause begins and ends in one thread, which is the program's own (CPython, V8, Go) or one of
 * the runtime (HotSpot's VM Thread, compilers). It is counted for the thread that asked for it, if
 * that is known. The running time of a pause is the growth of the thread's account in between, so
 * it is part of what the ledger booked, and nothing is added when threads are switched.
 */
#pragma once

#include "bpf/collections.bpf.h"
#include "bpf/identity.bpf.h"
#include "bpf/probe_argument.bpf.h"
#include "signals/runtime/runtime.h"

/* Pause and running time; the latter has no histogram. */
SERIES_MAPS(runtime, 2, 1 << 1, 8192);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 128 * 1024);
} runtime_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RUNTIME_SITES);
	__type(key, __u32);
	__type(value, struct runtime_site);
} runtime_sites SEC(".maps");

/* Hits of each site, by whomever: the cost is theirs too. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, RUNTIME_SITES);
	__type(key, __u32);
	__type(value, __u64);
} runtime_hits SEC(".maps");

struct runtime_open {
	__u64 begin_ns; /* 0: not open */
	__u64 run_ns;   /* of the thread, then */
	__u64 sp;       /* PAUSE_BY_FRAME: at the entry of the function */
	__u64 object[2];
	__u64 asker; /* 0: not known */
	__u32 place;
	__u32 operation;
};

/* Places of pauses with an end; a power of two. */
#define RUNTIME_OPEN 8
_Static_assert(PAUSE_MARKING < RUNTIME_OPEN, "those with an end");

struct runtime_thread {
	struct runtime_open open[RUNTIME_OPEN]; /* by place */
	__u64 named; /* the operation that it works on, by the hash of its name; 0: none */
	__u64 asker; /* who asked for it; 0: not known */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct runtime_thread);
} runtime_threads SEC(".maps");

struct runtime_asked {
	__u64 name; /* of the operation, as a hash */
	__u64 pid;  /* the kernel's tgid */
};

/* Who has asked for an operation that has not begun yet. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct runtime_asked);
	__type(value, __u64);
} runtime_askers SEC(".maps");

/* Names that were sent, by their hash. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u8);
} runtime_names SEC(".maps");

static __always_inline void runtime_send_name(__u64 hash, const char *name)
{
	struct runtime_name *record;
	__u8 one = 1;

	if (by_class || bpf_map_update_elem(&runtime_names, &hash, &one, BPF_NOEXIST))
		return;
	record = bpf_ringbuf_reserve(&runtime_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(runtime, LOST_RING_FULL);
		bpf_map_delete_elem(&runtime_names, &hash);
		return;
	}
	wire_head_init(&record->head, sizeof(*record), RUNTIME_NAME, 1);
	record->object[0] = hash;
	record->object[1] = PAUSE_OBJECT_NAMED;
	__builtin_memcpy(record->name, name, sizeof(record->name));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/*
 * The hash of the string at an address of the program; 0: it cannot be read. Its lowest bit says
 * whether it is the name of a collection.
 */
VERIFIED_ONCE __u64 runtime_read_name(__u64 address)
{
	__u64 words[RUNTIME_NAME_BYTES / 8] = {}, hash = 0;

	if (!is_on(SIGNAL_runtime) ||
	    bpf_probe_read_user_str(words, sizeof(words), (void *)address) <= 1)
		return 0;
#pragma unroll
	for (int i = 0; i < RUNTIME_NAME_BYTES / 8; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	hash = (hash & ~RUNTIME_COLLECTION) | runtime_is_collection((const char *)words);
	runtime_send_name(hash, (const char *)words);
	return hash;
}

static __always_inline __s64 runtime_argument(struct pt_regs *ctx, const struct runtime_site *site)
{
	__s64 value = -1;

	if (site->parameter == 2)
		return (__s32)PT_REGS_PARM2(ctx);
	if (probe_argument_read(ctx, &site->argument, &value))
		return -1;
	return value;
}

/* What the site and its argument say about the pause. */
static __always_inline void runtime_describe(struct pt_regs *ctx, const struct runtime_site *site,
					     struct runtime_open *pause)
{
	__u32 operation = site->cause;
	__s64 value;

	if (site->tells) {
		value = runtime_argument(ctx, site);
		if (site->tells == PAUSE_TELLS_GENERATION && value >= 0 && value <= 2)
			operation = PAUSE_GENERATION_0 + value;
		else if (site->tells == PAUSE_TELLS_FULL && value > 0)
			operation = PAUSE_FULL;
		else if (site->tells == PAUSE_TELLS_NAME) {
			pause->object[0] = runtime_read_name(value);
			pause->object[1] = pause->object[0] ? PAUSE_OBJECT_NAMED : 0;
		}
	}
	pause->place = site->place;
	pause->operation = operation;
}

static __always_inline struct runtime_open *runtime_find(struct runtime_thread *mine, __u32 place)
{
	return &mine->open[place & (RUNTIME_OPEN - 1)];
}

/* A collection belongs to the operation that the thread works on. */
static __always_inline void runtime_begin(struct pt_regs *ctx, const struct runtime_site *site,
					  struct runtime_thread *mine)
{
	struct runtime_open *pause = runtime_find(mine, site->place);
	__u64 sp = site->flags & PAUSE_BY_FRAME ? ctx->ARCH_SP : 0;

	/* Marking inside of a collection is part of it. */
	if (site->place == PAUSE_MARKING && mine->open[PAUSE_GC].begin_ns)
		return;
	if (pause->begin_ns && pause->begin_ns >= series[SIGNAL_runtime].since_ns) {
		/* Called by itself: the outer call is the pause. */
		if (sp && sp < pause->sp)
			return;
		__sync_fetch_and_add(&series[SIGNAL_runtime].unpaired, 1);
	}
	pause->object[0] = mine->named;
	pause->object[1] = mine->named ? PAUSE_OBJECT_NAMED : 0;
	pause->asker = mine->asker;
	pause->sp = sp;
	runtime_describe(ctx, site, pause);
	pause->begin_ns = bpf_ktime_get_ns();
	pause->run_ns = current_run_ns(pause->begin_ns);
}

static __always_inline void runtime_send(const struct series_key *key, const __u64 *values,
					 __u64 now)
{
	struct runtime_pause *record;

	if (by_class)
		return;
	record = bpf_ringbuf_reserve(&runtime_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(runtime, LOST_RING_FULL);
		return;
	}
	wire_head_at(&record->head, sizeof(*record), RUNTIME_PAUSE, 1, now);
	record->thread = key->thread;
	record->stack = event_stack();
	record->object[0] = key->object[0];
	record->object[1] = key->object[1];
	record->pause_ns = values[0];
	record->run_ns = values[1];
	record->place = key->place;
	record->operation = key->operation;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

VERIFIED_ONCE int runtime_finish(struct runtime_open *pause, __u64 id, __u64 now)
{
	struct series_key key = {};
	__u64 values[2], run_ns;

	if (!is_on(SIGNAL_runtime) || !pause)
		return 0;
	run_ns = current_run_ns(now);
	key.thread = pause->asker ? pause->asker : id;
	key.object[0] = pause->object[0];
	key.object[1] = pause->object[1];
	key.place = pause->place;
	key.operation = pause->operation;
	values[0] = now - pause->begin_ns;
	values[1] = run_ns > pause->run_ns ? run_ns - pause->run_ns : 0;
	pause->begin_ns = 0;
	series_reduce(&key);
	series_add(SERIES(runtime), &key, values);
	if (series_is_slow(SERIES(runtime), values[0]))
		runtime_send(&key, values, now);
	return 0;
}

/* What began before anything was counted is not counted. */
static __always_inline void runtime_end(struct pt_regs *ctx, const struct runtime_site *site,
					struct runtime_thread *mine, __u64 id, __u64 now)
{
	struct runtime_open *pause = runtime_find(mine, site->place);
	__u64 sp = ctx->ARCH_SP - (ARCH_LINK_REGISTER ? 0 : 8);

	if (!pause->begin_ns)
		return;
	/* The return has removed the return address from the stack. */
	if (site->flags & PAUSE_BY_FRAME && pause->sp != sp)
		return;
	if (pause->begin_ns < series[SIGNAL_runtime].since_ns)
		pause->begin_ns = 0;
	else
		runtime_finish(pause, id, now);
}

static __always_inline void runtime_note_asker(struct pt_regs *ctx, const struct runtime_site *site,
					       __u64 id)
{
	struct runtime_asked asked = { .pid = bpf_get_current_pid_tgid() >> 32 };

	asked.name = runtime_read_name(runtime_argument(ctx, site));
	if (!asked.name)
		return;
	bpf_map_update_elem(&runtime_askers, &asked, &id, BPF_ANY);
	if (asked.name & RUNTIME_COLLECTION)
		collection_begins(id, asked.name);
}

/* The operation's name and asker belong to the stop that has begun already, and to what follows. */
static __always_inline void runtime_work(struct pt_regs *ctx, const struct runtime_site *site,
					 struct runtime_thread *mine)
{
	struct runtime_asked asked = { .pid = bpf_get_current_pid_tgid() >> 32 };
	struct runtime_open *stop = &mine->open[PAUSE_SAFEPOINT];
	__u64 *asker;
	__s64 mode = -1;

	asked.name = runtime_read_name(runtime_argument(ctx, site));
	collection_follows(asked.name);
	asker = bpf_map_lookup_elem(&runtime_askers, &asked);
	mine->named = asked.name;
	mine->asker = asker ? *asker : 0;
	if (asker)
		bpf_map_delete_elem(&runtime_askers, &asked);
	if (stop->begin_ns && !(site->flags & PAUSE_IS_STOP)) {
		stop->object[0] = mine->named;
		stop->object[1] = mine->named ? PAUSE_OBJECT_NAMED : 0;
		stop->asker = mine->asker;
	}
	if (site->flags & PAUSE_IS_STOP && !probe_argument_read(ctx, &site->second, &mode) && !mode)
		runtime_begin(ctx, site, mine);
}

static __always_inline void runtime_count(const struct runtime_site *site, __u64 id)
{
	struct series_key key = { .thread = id, .place = site->place, .operation = site->cause };
	__u64 values[2] = {};

	series_reduce(&key);
	series_sum_up(SERIES(runtime), series_turn(SERIES(runtime)), &key, values);
}

static __always_inline void runtime_step(struct pt_regs *ctx, const struct runtime_site *site,
					 struct runtime_thread *mine, __u64 id, __u64 now)
{
	struct runtime_open *pause;

	switch (site->step) {
	case PAUSE_BEGINS:
		runtime_begin(ctx, site, mine);
		break;
	case PAUSE_ENDS:
		runtime_end(ctx, site, mine, id, now);
		break;
	case PAUSE_IS:
		/* The place of the begin is that of the storage, whatever it turns out to be. */
		pause = site->flags & PAUSE_IS_STOP ? &mine->open[PAUSE_SAFEPOINT]
						    : &mine->open[PAUSE_GC];
		if (pause->begin_ns)
			runtime_describe(ctx, site, pause);
		break;
	case PAUSE_WORKS:
		runtime_work(ctx, site, mine);
		break;
	case PAUSE_WORKED:
		if (site->flags & PAUSE_IS_STOP)
			runtime_end(ctx, site, mine, id, now);
		collection_ends(mine->named);
		mine->named = mine->asker = 0;
		break;
	}
}

static __always_inline int runtime_hit(struct pt_regs *ctx)
{
	__u32 number = bpf_get_attach_cookie(ctx);
	__u64 now, *hits = bpf_map_lookup_elem(&runtime_hits, &number);
	struct runtime_thread *mine;
	struct runtime_site *site;
	struct identity who;

	if (hits)
		__sync_fetch_and_add(hits, 1);
	if (!is_wanted_now(SIGNAL_runtime, &who))
		return 0;
	now = bpf_ktime_get_ns();
	site = bpf_map_lookup_elem(&runtime_sites, &number);
	if (!site)
		return 0;
	if (site->step == PAUSE_ASKED) {
		runtime_note_asker(ctx, site, who.id);
		return 0;
	}
	if (site->step == PAUSE_COUNTED) {
		runtime_count(site, who.id);
		return 0;
	}
	mine = bpf_task_storage_get(&runtime_threads, bpf_get_current_task_btf(), NULL,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (mine)
		runtime_step(ctx, site, mine, who.id, now);
	else
		COUNT_LOST(runtime, LOST_NO_STORAGE);
	return 0;
}

SEC("uprobe")
int runtime_on_hit(struct pt_regs *ctx)
{
	return is_on(SIGNAL_runtime) ? runtime_hit(ctx) : 0;
}

SEC("uretprobe")
int runtime_on_return(struct pt_regs *ctx)
{
	return is_on(SIGNAL_runtime) ? runtime_hit(ctx) : 0;
}
