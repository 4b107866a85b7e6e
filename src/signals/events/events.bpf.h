/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Any tracepoint: events counted by thread and by one of their fields, and the time between two
 * events, each of which may also be the entry of a function or a declared probe.
 *
 * One program serves all tracepoints. It is attached to each as a classic tracepoint program, whose
 * context is the event's record in the format that tracefs describes. The cookie of the attachment
 * says which point it is. A raw tracepoint would be cheaper, but has the arguments of the event
 * instead of its fields, and the tracepoints of single syscalls have no raw form.
 *
 * The kernel attaches a program only once to a tracepoint, whatever its cookie is. So a point has a
 * list of what to do.
 *
 * The kernel does not run a classic tracepoint program while another one, a kprobe program or a
 * perf event program runs on the same CPU. It counts that since 6.7; the report has
 * it as recursion misses. For the same reason no two runs on one CPU are nested, and the sum of a
 * thread has one writer. Functions and declared probes have a program of their own, to which this
 * does not apply; they are only ends of pairs, whose sums may have many writers.
 */
#pragma once

#include "bpf/identity.bpf.h"
#include "signals/events/events.h"

SERIES_MAPS(events, 2, 0, 16384);

/* Room for some 14,000 events; user space reads every 100 ms. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1024 * 1024);
} events_ring SEC(".maps");

const volatile struct events_knobs events_knobs SEC(".rodata.events");

/* Texts whose name was sent. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u8);
} events_named SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct events_open_key);
	__type(value, struct events_open_value);
} events_open SEC(".maps");

/* Hits of each probe, by whomever: the cost is theirs too. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, EVENTS_SPECS + 1);
	__type(key, __u32);
	__type(value, __u64);
} events_hits SEC(".maps");

/* `record`: the address of the event's record. False: the number cannot be read. */
static __always_inline bool events_read(__u64 record, const struct events_field *field, __u64 *ret)
{
	__u64 value[2] = {}, size = field->size, shift, at = record + field->offset;
	long err = 0;

	/* At most 8; the verifier of 6.1 knows the bound of a mask everywhere. */
	barrier_var(size);
	size &= sizeof(value) - 1;
	if (field->source == EVENTS_CONSTANT) {
		value[0] = field->value;
	} else if (field->source == EVENTS_AT_ADDRESS) {
		bpf_probe_read_kernel(&at, sizeof(at), (void *)at);
		err = bpf_probe_read_user(value, size, (void *)(at + field->value));
	} else {
		err = bpf_probe_read_kernel(value, size, (void *)at);
	}
	shift = (64 - 8 * size) & 63;
	*ret = field->kind == EVENTS_SIGNED ? (__u64)((__s64)(value[0] << shift) >> shift)
					    : value[0] << shift >> shift;
	return !err;
}

/* Of a tracepoint, whose record can always be read. */
static __always_inline __u64 events_number(__u64 record, const struct events_field *field)
{
	__u64 value = 0;

	events_read(record, field, &value);
	return value;
}

/* The hash of a text, never 0. `text` gets it, filled with zeros. */
static __always_inline __u64 events_text(__u64 record, const struct events_field *field,
					 __u64 text[EVENTS_TEXT_BYTES / 8])
{
	__u64 offset = field->offset, size = field->size, where, hash = 0;

	if (field->kind != EVENTS_TEXT) {
		where = events_number(record, field);
		offset = where & 0xffff;
		if (field->kind == EVENTS_REL_LOC)
			offset += field->offset + field->size;
		size = where >> 16 & 0xffff;
	}
	/* The helper puts a NUL into the last byte that it copies. */
	size++;
	if (size > EVENTS_TEXT_BYTES - 1)
		size = EVENTS_TEXT_BYTES - 1;
	barrier_var(size);
	size &= EVENTS_TEXT_BYTES - 1;
	__builtin_memset(text, 0, EVENTS_TEXT_BYTES);
	bpf_probe_read_kernel_str(text, size, (void *)(record + offset));
	for (int i = 0; i < EVENTS_TEXT_BYTES / 8; i++) {
		hash = (hash ^ text[i]) * EVENTS_HASH_FACTOR;
		hash ^= hash >> 32;
	}
	return hash ? hash : 1;
}

/* Sends the name of a text once. False: there is no room for it. */
static __always_inline bool events_send_name(__u64 hash, __u64 kind, const __u64 *text)
{
	__u64 known_as = EVENTS_NAMED_AS(hash, kind);
	struct events_name *record;
	__u8 one = 1;

	if (by_class || bpf_map_lookup_elem(&events_named, &known_as))
		return true;
	if (bpf_map_update_elem(&events_named, &known_as, &one, BPF_ANY)) {
		COUNT_LOST(events, LOST_MAP_FULL);
		return false;
	}
	record = bpf_ringbuf_reserve(&events_ring, sizeof(*record), 0);
	if (!record) {
		/* Send it with the next one. */
		bpf_map_delete_elem(&events_named, &known_as);
		COUNT_LOST(events, LOST_RING_FULL);
		return true;
	}
	wire_head_init(&record->head, sizeof(*record), EVENTS_NAME, 1);
	record->object[0] = hash;
	record->object[1] = kind;
	__builtin_memcpy(record->text, text, EVENTS_TEXT_BYTES);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return true;
}

/* A function of its own because of its stack. Returns the hash, 0 if the text has no room. */
VERIFIED_ONCE __u64 events_text_key(__u64 record, __u32 number, __u32 operation)
{
	__u64 text[EVENTS_TEXT_BYTES / 8], hash, kind = (operation + 1) | EVENTS_IS_TEXT;
	struct events_field field;

	if (!is_on(SIGNAL_events) || number >= EVENTS_SPECS)
		return 0;
	field = events_knobs.specs[number].key;
	hash = events_text(record, &field, text);
	return events_send_name(hash, kind, text) ? hash : 0;
}

static __always_inline void events_send(const struct series_key *key, const __u64 values[2])
{
	struct events_happened *record;

	if (by_class || !series_is_slow(SERIES(events), values[0]))
		return;
	record = bpf_ringbuf_reserve(&events_ring, sizeof(*record), 0);
	if (!record) {
		COUNT_LOST(events, LOST_RING_FULL);
		return;
	}
	wire_head_init(&record->head, sizeof(*record), EVENTS_HAPPENED, 1);
	record->thread = key->thread;
	record->stack = event_stack();
	record->object[0] = key->object[0];
	record->object[1] = key->object[1];
	record->duration_ns = values[0];
	record->value = values[1];
	record->place = key->place;
	record->operation = key->operation;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* The key of an event, as the two numbers of an object. */
static __always_inline void events_take_key(__u64 record, __u32 number,
					    const struct events_spec *spec, struct series_key *key)
{
	if (spec->key.kind == EVENTS_NO_FIELD)
		return;
	key->object[1] = spec->operation + 1;
	if (spec->key.kind >= EVENTS_TEXT) {
		key->object[1] |= EVENTS_IS_TEXT;
		key->object[0] = events_text_key(record, number, spec->operation);
	} else {
		key->object[0] = events_number(record, &spec->key);
	}
}

static __always_inline void events_count(__u64 record, __u32 number, const struct events_spec *spec)
{
	struct series_maps maps = SERIES(events);
	struct series_key key = { .operation = spec->operation };
	__u64 values[2] = {};
	struct identity who;
	__u32 turn;

	if (!is_wanted_now(SIGNAL_events, &who))
		return;
	key.thread = who.id;
	events_take_key(record, number, spec, &key);
	if (spec->value.kind != EVENTS_NO_FIELD) {
		values[1] = events_number(record, &spec->value);
		if (spec->value.kind == EVENTS_SIGNED && (__s64)values[1] < 0) {
			values[1] = -values[1];
			key.place = EVENTS_NEGATIVE;
		}
	}
	series_reduce(&key);
	turn = series_turn(maps);
	series_sum_up_own(maps, turn, &key, values);
	maps.plain = 1;
	if (spec->value.kind != EVENTS_NO_FIELD)
		series_distribute(maps, turn, &key, values);
	events_send(&key, values);
}

/* Only the kernel's idle threads share a number, and each has a CPU of its own. */
static __always_inline __u64 events_thread_key(const struct identity *who)
{
	__u64 tid = (__u32)bpf_get_current_pid_tgid();

	return who->id ? who->id : 1ull << 63 | (__u64)bpf_get_smp_processor_id() << 32 | tid;
}

/* What the begin and the end of a pair have in common. False: it cannot be read. */
static __always_inline bool events_pair_key(__u64 record, const struct events_spec *spec,
					    const struct identity *who, __u64 *ret)
{
	__u64 text[EVENTS_TEXT_BYTES / 8];

	if (spec->key.kind == EVENTS_NO_FIELD) {
		*ret = events_thread_key(who);
	} else if (spec->key.kind >= EVENTS_TEXT) {
		*ret = events_text(record, &spec->key, text);
	} else if (!events_read(record, &spec->key, ret)) {
		COUNT_LOST(events, LOST_NO_STORAGE);
		return false;
	}
	return true;
}

static __always_inline void events_add_unpaired(const struct events_spec *spec, __u64 thread,
						__u32 outcome)
{
	struct series_key key = { .thread = thread, .operation = spec->operation + outcome };
	struct series_maps maps = SERIES(events);
	__u64 none[2] = {};

	series_reduce(&key);
	series_sum_up(maps, series_turn(maps), &key, none);
}

static __always_inline void events_begin(__u64 record, const struct events_spec *spec)
{
	struct events_open_key key = { .operation = spec->operation };
	struct events_open_value value = {}, *before;
	struct identity who;

	if (!is_wanted_now(SIGNAL_events, &who) || !events_pair_key(record, spec, &who, &key.key))
		return;
	before = bpf_map_lookup_elem(&events_open, &key);
	if (before && before->time_ns >= series[SIGNAL_events].since_ns)
		events_add_unpaired(spec, before->thread, EVENTS_BEGUN_AGAIN);
	value.time_ns = bpf_ktime_get_ns();
	value.thread = who.id;
	if (bpf_map_update_elem(&events_open, &key, &value, BPF_ANY))
		COUNT_LOST(events, LOST_NO_STORAGE);
}

/*
 * The end of a pair by a field may come in any thread, and in the target only the begins are
 * known. So an end without a begin counts only if all threads are recorded.
 */
static __always_inline void events_end(__u64 record, const struct events_spec *spec)
{
	bool by_thread = spec->key.kind == EVENTS_NO_FIELD;
	struct events_open_key key = { .operation = spec->operation };
	struct series_key sum = { .operation = spec->operation };
	struct series_maps maps = SERIES(events);
	struct events_open_value *begin;
	struct identity who;
	bool is_wanted = is_wanted_now(SIGNAL_events, &who);
	__u64 values[2] = {}, now;
	__u32 turn;

	if (!series[SIGNAL_events].enabled || (by_thread && !is_wanted) ||
	    !events_pair_key(record, spec, &who, &key.key))
		return;
	begin = bpf_map_lookup_elem(&events_open, &key);
	/* A begin from before a pause may have an end within it. */
	if (!begin || begin->time_ns < series[SIGNAL_events].since_ns) {
		if (by_thread || series[SIGNAL_events].every_thread)
			events_add_unpaired(spec, is_wanted ? who.id : 0, EVENTS_NOT_BEGUN);
		return;
	}
	now = bpf_ktime_get_ns();
	values[0] = now > begin->time_ns ? now - begin->time_ns : 0;
	sum.thread = begin->thread;
	/* Of two ends at the same time, one has the begin. */
	if (bpf_map_delete_elem(&events_open, &key)) {
		events_add_unpaired(spec, is_wanted ? who.id : 0, EVENTS_NOT_BEGUN);
		return;
	}
	series_reduce(&sum);
	turn = series_turn(maps);
	series_sum_up(maps, turn, &sum, values);
	maps.plain = 2;
	series_distribute(maps, turn, &sum, values);
	events_send(&sum, values);
}

VERIFIED_ONCE int events_count_at(__u64 record, __u32 number)
{
	struct events_spec spec;

	if (!is_on(SIGNAL_events) || number >= EVENTS_SPECS)
		return 0;
	spec = events_knobs.specs[number];
	events_count(record, number, &spec);
	return 0;
}

VERIFIED_ONCE int events_begin_at(__u64 record, __u32 number)
{
	struct events_spec spec;

	if (!is_on(SIGNAL_events) || number >= EVENTS_SPECS)
		return 0;
	spec = events_knobs.specs[number];
	events_begin(record, &spec);
	return 0;
}

VERIFIED_ONCE int events_end_at(__u64 record, __u32 number)
{
	struct events_spec spec;

	if (!is_on(SIGNAL_events) || number >= EVENTS_SPECS)
		return 0;
	spec = events_knobs.specs[number];
	events_end(record, &spec);
	return 0;
}

/* Does what the point asks for. */
static __always_inline void events_at(__u64 record, __u64 point)
{
	/* A mask, because 6.1 loses the bound of a comparison. */
	barrier_var(point);
	point &= EVENTS_SPECS - 1;
	for (int i = 0; i < EVENTS_AT_ONE; i++) {
		__u64 number = events_knobs.points[point].specs[i], role;

		if (!number)
			break;
		number--;
		barrier_var(number);
		number &= EVENTS_SPECS - 1;
		role = events_knobs.specs[number].role;
		if (role == EVENTS_COUNTED)
			events_count_at(record, number);
		else if (role == EVENTS_BEGINS)
			events_begin_at(record, number);
		else
			events_end_at(record, number);
	}
}

SEC("tp/events")
int events_on_tracepoint(void *context)
{
	__u64 point = bpf_get_attach_cookie(context), record = 0;

	if (!is_on(SIGNAL_events) || point >= EVENTS_SPECS)
		return 0;
	/* The verifier lets no offset be added to the context itself, but to a number. */
	bpf_probe_read_kernel(&record, sizeof(record), &context);
	events_at(record, point);
	return 0;
}

SEC("uprobe")
int events_on_probe(struct pt_regs *context)
{
	__u64 cookie = bpf_get_attach_cookie(context), record = 0, *hits;
	__u32 number = cookie;

	if (!is_on(SIGNAL_events))
		return 0;
	/* The program may lose its CPU to another hit. */
	hits = bpf_map_lookup_elem(&events_hits, &number);
	if (hits)
		__sync_fetch_and_add(hits, 1);
	if (!cookie)
		return 0;
	bpf_probe_read_kernel(&record, sizeof(record), &context);
	events_at(record, events_knobs.first_probe + cookie - 1);
	return 0;
}
