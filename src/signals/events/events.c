/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/events/events.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/series.h"
#include "core/signal.h"
#include "core/sys.h"
#include "signals/events/event_probes.h"
#include "signals/events/event_requests.h"

/* The first value of an event; the other one is that of the field value=. */
enum { MEASURE_TIME, MEASURE_VALUE };

enum { COLUMN_VALUE };

static const struct hook hooks[] = {
	{ "any tracepoint", { "events_on_tracepoint" }, HOOK_BY_SIGNAL },
	{ "function entry", { "events_on_probe" }, HOOK_BY_SIGNAL },
	{},
};

static const struct measure measures[] = {
	[MEASURE_TIME] = { "time", "ns" }, [MEASURE_VALUE] = { "value", "number" }, {}
};

static const struct column columns[] = {
	[COLUMN_VALUE] = { "value", COLUMN_NUMBER, 12 },
	{},
};

static struct bpf_link *links[EVENTS_TRACED];

static int take_event(const char *arg, char *why, size_t size)
{
	char words[EVENT_REQUESTS_WHY] = "";
	int err = event_requests__add(arg, sys__tracefs(), words);

	snprintf(why, size, "%s", words);
	return err;
}

static int take_pair(const char *arg, char *why, size_t size)
{
	char words[EVENT_REQUESTS_WHY] = "";
	int err = event_requests__add_pair(arg, sys__tracefs(), words);

	snprintf(why, size, "%s", words);
	return err;
}

static const struct signal_option options[] = {
	{ "event", take_event },
	{ "pair", take_pair },
	{},
};

static int events_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	struct bpf_map *open = bpf_object__find_map_by_name(object, "events_open");
	struct events_knobs *knobs;
	size_t size = 0;

	knobs = series__section(object, ".rodata.events", &size);
	if (!knobs || size < sizeof(*knobs) || !open)
		return -EPROTO;
	*knobs = *event_probes__knobs();
	return event_requests__has_pairs() ? 0 : bpf_map__set_max_entries(open, 1);
}

static void events_detach(void)
{
	event_probes__detach();
	for (size_t i = 0; i < EVENTS_TRACED; i++) {
		hooks__detach(links[i]);
		links[i] = NULL;
	}
}

static int events_attach(struct bpf_object *object)
{
	const struct event_words_point *point;
	int attached = event_requests__probe(0) != NULL, last = event_probes__attach(object);

	/* The other end of a pair would count what did not happen. */
	if (last)
		return last;
	for (size_t i = 0; (point = event_requests__point(i)); i++) {
		const struct hook_target target = { .provider = point->group,
						    .name = point->name,
						    .cookie = i };
		int err = hooks__attach(object, "events_on_tracepoint", &target, &links[i]);

		attached += !err;
		if (!err)
			continue;
		last = err;
		log_warning("the event '%s:%s' cannot be attached to (%s); continuing without it",
			    point->group, point->name, strerror(-err));
	}
	return attached ? 0 : last;
}

/* Adds one to a sum that only this function writes. */
static int add_open(int sums_fd, const struct series_key *key)
{
	struct series_sum sum = {};

	(void)bpf_map_lookup_elem(sums_fd, key, &sum);
	sum.count++;
	return bpf_map_update_elem(sums_fd, key, &sum, BPF_ANY) ? -errno : 0;
}

/* Begins that still wait for their end become a sum of their own. */
static int add_all_open(struct bpf_object *object)
{
	struct events_open_key key, *last = NULL;
	struct events_open_value value;
	size_t size = 0;
	const struct series_control *controls = series__section(object, ".data.series", &size);
	const struct bpf_map *open, *sums;
	int err = 0;

	if (size < sizeof(*controls) * SIGNAL_COUNT)
		return -EPROTO;
	open = bpf_object__find_map_by_name(object, "events_open");
	sums = bpf_object__find_map_by_name(
		object, controls[SIGNAL_events].active ? "events_sums_b" : "events_sums_a");
	while (!err && !bpf_map_get_next_key(bpf_map__fd(open), last, &key)) {
		last = &key;
		if (!bpf_map_lookup_elem(bpf_map__fd(open), &key, &value) &&
		    value.time_ns >= controls[SIGNAL_events].since_ns)
			err = add_open(bpf_map__fd(sums),
				       &(struct series_key) {
					       .thread = value.thread,
					       .operation = (__u16)(key.operation + EVENTS_OPEN) });
	}
	return err;
}

static int events_refresh(struct bpf_object *object, struct bpf_link *const *unused, bool is_last)
{
	int err = event_probes__hold(object, is_last);

	return !err && is_last && event_requests__has_pairs() ? add_all_open(object) : err;
}

static int decode_name(const struct events_name *rec, size_t size, struct event *ret)
{
	__u64 operation;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    !memchr(rec->text, '\0', sizeof(rec->text)))
		return -EBADMSG;
	operation = (rec->object[1] & ~EVENTS_IS_TEXT) - 1;
	if (!(rec->object[1] & EVENTS_IS_TEXT) || operation >= EVENTS_OPERATIONS)
		return -EBADMSG;
	ret->kind = EVENT_NAMES;
	memcpy(ret->object, rec->object, sizeof(ret->object));
	snprintf(ret->scratch, sizeof(ret->scratch), "%s=%s",
		 event_requests__key((unsigned)operation), rec->text);
	ret->object_name = ret->scratch;
	return 0;
}

static int decode_happened(const struct events_happened *rec, size_t size, struct event *ret)
{
	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    rec->operation >= EVENTS_OPERATIONS || rec->place > EVENTS_NEGATIVE)
		return -EBADMSG;
	ret->thread = rec->thread;
	ret->stack = rec->stack;
	memcpy(ret->object, rec->object, sizeof(ret->object));
	ret->duration_ns = rec->duration_ns;
	ret->place = rec->place;
	ret->operation = (uint16_t)rec->operation;
	ret->values[COLUMN_VALUE].number = rec->value;
	ret->values[COLUMN_VALUE].none = rec->operation >= EVENTS_SINGLES;
	return 0;
}

static int events_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;

	if (size < sizeof(*head))
		return -EBADMSG;
	return head->kind == EVENTS_NAME       ? decode_name(bytes, size, ret)
	       : head->kind == EVENTS_HAPPENED ? decode_happened(bytes, size, ret)
					       : -EBADMSG;
}

static const char *operation(uint32_t operation)
{
	return event_requests__operation(operation);
}

static void place(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "%s", place == EVENTS_NEGATIVE ? "negative" : "");
}

/* The name of a text is sent once, those of numbers are not sent. */
static bool forget_object(struct bpf_object *object, const __u64 numbers[2])
{
	const struct bpf_map *named = bpf_object__find_map_by_name(object, "events_named");
	__u64 known_as = EVENTS_NAMED_AS(numbers[0], numbers[1]);

	if (numbers[1] & EVENTS_IS_TEXT && numbers[0])
		bpf_map_delete_elem(bpf_map__fd(named), &known_as);
	return true;
}

const struct signal events_signal = {
	.name = "events",
	.number = SIGNAL_events,
	.about =
		"any tracepoint (--event): counts by field; time between two events or functions (--pair)",
	.events = "events",
	.role = ROLE_REQUESTED,
	.event_ns = 150,
	.on_request = true,
	.options = options,
	.find = event_probes__find,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = events_prepare,
	.attach = events_attach,
	.detach = events_detach,
	.left_out = event_probes__left_out,
	.refresh = events_refresh,
	.decode = events_decode,
	.operation = operation,
	.place = place,
	.object_kind = "key",
	.object = event_requests__name_object,
	.forget_object = forget_object,
};
