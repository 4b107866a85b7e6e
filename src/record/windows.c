/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/windows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/words.h"
#include "core/signal.h"
#include "ledger/windows/reader.h"
#include "record/kept_window.h"
#include "record/window_text.h"
#include "recording/window_rows.h"

#define SWEEP_AFTER_NS UINT64_C(1000000000)
/* Of a class in a period. */
#define MOST_SLOW 16
#define NAME_SIZE 256

#define KIND_KEY(kind, key, ...)         [WINDOW_##kind] = key,
#define PROTOCOL_KEY(protocol, key, ...) [WINDOW_PROTOCOL_##protocol] = key,
#define STATUS_KEY(status, key, ...)     [WINDOW_STATUS_##status] = key,

static const char *const kinds[] = { WINDOW_KINDS(KIND_KEY) };
static const char *const protocols[] = { WINDOW_PROTOCOLS(PROTOCOL_KEY) };
static const char *const statuses[] = { WINDOW_STATUSES(STATUS_KEY) };

/* A band: what was written of it, and the windows of it that were kept in this period. */
struct band {
	struct window_band written;
	uint64_t unweighted; /* windows that no kept one stands for yet */
	struct kept_window *kept[WINDOW_KEPT];
};

struct slow {
	size_t count;
	struct kept_window *list[MOST_SLOW];
};

struct windows {
	struct recording *recording;
	struct ledger *ledger;
	struct collect *collect;
	const struct part *signals;
	struct band *bands; /* WINDOW_BANDS of them */
	struct map band_of; /* by class and bucket: points into bands */
	struct slow slow[WINDOW_CLASSES];
	uint64_t slow_ns[WINDOW_CLASSES];
	uint8_t protocol_of[WINDOW_CLASSES];
	uint64_t malformed;
};

int windows__new(struct recording *recording, struct ledger *ledger, struct collect *collect,
		 const struct part *signals, struct windows **ret)
{
	struct windows *windows = calloc(1, sizeof(*windows));

	if (!windows)
		return -ENOMEM;
	windows->bands = calloc(WINDOW_BANDS, sizeof(*windows->bands));
	if (!windows->bands) {
		free(windows);
		return -ENOMEM;
	}
	windows->recording = recording;
	windows->ledger = ledger;
	windows->collect = collect;
	windows->signals = signals;
	*ret = windows;
	return 0;
}

void windows__free(struct windows *windows)
{
	if (!windows)
		return;
	for (size_t i = 0; i < WINDOW_BANDS; i++)
		for (size_t j = 0; j < WINDOW_KEPT; j++)
			free(windows->bands[i].kept[j]);
	for (size_t i = 0; i < WINDOW_CLASSES; i++)
		for (size_t j = 0; j < windows->slow[i].count; j++)
			free(windows->slow[i].list[j]);
	map__release(&windows->band_of);
	free(windows->bands);
	free(windows);
}

uint64_t windows__malformed(const struct windows *windows)
{
	return windows->malformed;
}

/* --- classes -------------------------------------------------------------------------------- */

/* The signal that has the probes knows their names. */
static void name_function(const struct windows *windows, uint32_t place, char *ret, size_t size)
{
	for (const struct part *part = windows->signals; part->signal; part++)
		if (part->signal->number == SIGNAL_functions && part->signal->place)
			part->signal->place(place, ret, size);
}

static void name_service(const struct windows *windows, const struct window_class_record *record,
			 char *ret, size_t size)
{
	bool is_client = record->key.kind == WINDOW_CLIENT;

	*ret = '\0';
	if (record->key.kind == WINDOW_CALL) {
		name_function(windows, record->key.port, ret, size);
	} else if (ADDRESS_IS_KNOWN(record->key.family)) {
		address__name(
			record->key.family, is_client ? record->ends.peer : record->ends.local,
			is_client ? record->ends.peer_port : record->ends.local_port, ret, size);
	} else if (record->key.family == AF_UNIX) {
		const char *path = record->path;

		/* The name of an abstract socket begins with a zero. */
		words__say(ret, size, "unix:%s%.*s", *path ? "" : "@", WINDOW_TEXT_BYTES - 1,
			   *path ? path : path + 1);
	}
}

static int take_class(struct windows *windows, const struct window_class_record *record)
{
	char service[NAME_SIZE] = "", name[NAME_SIZE] = "";
	struct recording_window_class row = { .id = record->class,
					      .service = service,
					      .name = name };

	if (record->key.kind >= WINDOW_KIND_COUNT ||
	    record->key.protocol >= WINDOW_PROTOCOL_COUNT ||
	    record->key.status >= WINDOW_STATUS_COUNT || record->class >= WINDOW_CLASSES) {
		windows->malformed++;
		return 0;
	}
	windows->protocol_of[record->class] = record->key.protocol;
	row.kind = kinds[record->key.kind];
	row.protocol = protocols[record->key.protocol];
	row.status = statuses[record->key.status];
	row.process = collect__process(windows->collect, (int64_t)record->thread);
	name_service(windows, record, service, sizeof(service));
	if (record->key.text)
		window_text__class(record->key.protocol, record->text, name, sizeof(name));
	return window_rows__put_class(windows->recording, &row);
}

/* --- windows that are kept ------------------------------------------------------------------- */

static void drop(struct kept_window **place)
{
	free(*place);
	*place = NULL;
}

static struct kept_window *copy(const struct window_record *record)
{
	const struct window_headed_record *headed = (const void *)record;
	struct kept_window *kept = calloc(1, sizeof(*kept));

	if (!kept)
		return NULL;
	memcpy(&kept->record, record, sizeof(kept->record));
	if (record->head.size == sizeof(*headed))
		request_ids__find(headed->header, sizeof(headed->header), &kept->ids);
	return kept;
}

static uint64_t length_of(const struct window_record *record)
{
	return record->window.end_ns - record->window.ready_ns;
}

/* Another window takes the place. If a sample belongs to this one, its length is still needed. */
static int replace(struct windows *windows, struct kept_window **place, struct kept_window *by)
{
	int err = 0;

	if (*place && (*place)->record.flags & WINDOW_IS_MARKED)
		err = kept_window__put_bare(windows->recording, &(*place)->record.window,
					    (*place)->record.class);
	free(*place);
	*place = by;
	return err;
}

static int take_chosen(struct windows *windows, const struct window_record *record)
{
	uint64_t key = (uint64_t)record->class << 32 | record->bucket;
	struct band *band = map__get(&windows->band_of, key);
	struct kept_window *kept;
	uint32_t class, bucket;

	for (uint32_t i = 0; !band && ledger_windows__band(windows->ledger, i, &class, &bucket);
	     i++) {
		if (class != record->class || bucket != record->bucket)
			continue;
		band = &windows->bands[i];
		if (map__put(&windows->band_of, key, band))
			return -ENOMEM;
	}
	if (!band)
		return 0;
	kept = copy(record);
	return kept ? replace(windows, &band->kept[record->place], kept) : -ENOMEM;
}

static int take_slow(struct windows *windows, const struct window_record *record)
{
	struct slow *slow = &windows->slow[record->class];
	struct kept_window *kept;
	size_t least = 0;

	if (slow->count < MOST_SLOW) {
		kept = copy(record);
		if (!kept)
			return -ENOMEM;
		slow->list[slow->count++] = kept;
		return 0;
	}
	for (size_t i = 1; i < MOST_SLOW; i++)
		if (length_of(&slow->list[i]->record) < length_of(&slow->list[least]->record))
			least = i;
	if (length_of(record) <= length_of(&slow->list[least]->record))
		return record->flags & WINDOW_IS_MARKED
			       ? kept_window__put_bare(windows->recording, &record->window,
						       record->class)
			       : 0;
	kept = copy(record);
	return kept ? replace(windows, &slow->list[least], kept) : -ENOMEM;
}

static int take_kept(struct windows *windows, const struct window_record *record)
{
	if (record->class >= WINDOW_CLASSES || record->bucket >= HISTOGRAM_BUCKETS ||
	    record->place >= WINDOW_KEPT || record->window.evidence >= WINDOW_EVIDENCE_COUNT ||
	    record->window.worker >= WINDOW_EVIDENCE_COUNT) {
		windows->malformed++;
		return 0;
	}
	return record->flags & WINDOW_IS_CHOSEN ? take_chosen(windows, record)
						: take_slow(windows, record);
}

static int take_marked(struct windows *windows, const struct window_marked_record *record)
{
	const struct window window = { .serial = record->serial,
				       .thread = record->thread,
				       .ready_ns = record->ready_ns,
				       .end_ns = record->head.time_ns,
				       .parent = record->parent,
				       .n = 1 };

	return kept_window__put_bare(windows->recording, &window, record->class);
}

int windows__take(void *context, const struct wire_head *head)
{
	struct windows *windows = context;

	if (head->version == 1 && head->kind == WINDOW_CLASS &&
	    head->size == sizeof(struct window_class_record))
		return take_class(windows, (const void *)head);
	if (head->version == 1 && head->kind == WINDOW_KEPT_ONE &&
	    (head->size == sizeof(struct window_record) ||
	     head->size == sizeof(struct window_headed_record)))
		return take_kept(windows, (const void *)head);
	if (head->version == 1 && head->kind == WINDOW_MARKED &&
	    head->size == sizeof(struct window_marked_record))
		return take_marked(windows, (const void *)head);
	windows->malformed++;
	return 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void sum_of_band(const struct windows *windows, uint32_t band, struct window_band *ret)
{
	*ret = (struct window_band) {};
	for (int cpu = 0; cpu < ledger__cpus(windows->ledger); cpu++) {
		const volatile struct window_band *part =
			&ledger_windows__bands(windows->ledger, cpu)[band];

		ret->count += part->count;
		ret->n += part->n;
		for (size_t i = 0; i < WINDOW_COLUMNS; i++)
			ret->ns[i] += part->ns[i];
	}
}

static int write_times(struct windows *windows, const struct recording_window_band *of,
		       const struct window_band *now, struct window_band *written)
{
	int err = 0;

	for (size_t i = 0; i < WINDOW_COLUMNS && !err; i++) {
		const struct recording_window_time row = {
			.class = of->class,
			.from = of->from,
			.to = of->to,
			.bucket = of->bucket,
			.part = kept_window__part(i),
			.state = i < SLOT_COUNT ? (int)i : 0,
			.ns = (int64_t)(now->ns[i] - written->ns[i]),
		};

		if (row.ns)
			err = window_rows__add_time(windows->recording, &row);
	}
	return err;
}

static int write_band(struct windows *windows, uint32_t number, int64_t from, int64_t to)
{
	struct band *band = &windows->bands[number];
	struct recording_window_band row = { .from = from, .to = to };
	struct window_band now;
	uint32_t class, bucket;
	int err;

	ledger_windows__band(windows->ledger, number, &class, &bucket);
	sum_of_band(windows, number, &now);
	row.class = class;
	row.bucket = (int)bucket;
	row.count = (int64_t)(now.count - band->written.count);
	row.n = (int64_t)(now.n - band->written.n);
	if (!row.count)
		return 0;
	err = window_rows__add_band(windows->recording, &row);
	if (!err)
		err = write_times(windows, &row, &now, &band->written);
	band->unweighted += (uint64_t)row.count;
	band->written = now;
	return err;
}

static int put_kept(const struct windows *windows, const struct kept_window *kept, double weight)
{
	const struct kept_window_to to = { windows->recording, windows->collect };

	return kept_window__put(&to, windows->protocol_of[kept->record.class], kept, weight);
}

/* Writes the windows of the band that were kept in the period that ended. */
static int write_kept(struct windows *windows, struct band *band)
{
	uint64_t kept = 0;
	int err = 0;

	for (size_t i = 0; i < WINDOW_KEPT; i++)
		kept += band->kept[i] != NULL;
	for (size_t i = 0; i < WINDOW_KEPT && !err; i++) {
		if (!band->kept[i])
			continue;
		err = put_kept(windows, band->kept[i], (double)band->unweighted / (double)kept);
		drop(&band->kept[i]);
	}
	if (kept)
		band->unweighted = 0;
	return err;
}

static int by_length(const void *left, const void *right)
{
	uint64_t a = length_of(&(*(struct kept_window *const *)left)->record);
	uint64_t b = length_of(&(*(struct kept_window *const *)right)->record);

	return a < b ? 1 : a > b ? -1 : 0;
}

/* Writes the slowest windows, and sets how long a window has to be in the next period. */
static int write_slow(struct windows *windows, size_t class)
{
	struct slow *slow = &windows->slow[class];
	uint64_t least_ns = windows->slow_ns[class];
	int err = 0;

	qsort(slow->list, slow->count, sizeof(*slow->list), by_length);
	if (slow->count == MOST_SLOW)
		windows->slow_ns[class] = length_of(&slow->list[MOST_SLOW - 1]->record);
	else
		windows->slow_ns[class] = least_ns - least_ns / 8;
	for (size_t i = 0; i < slow->count && !err; i++) {
		err = put_kept(windows, slow->list[i], 0);
		drop(&slow->list[i]);
	}
	slow->count = 0;
	return err;
}

int windows__sweep(struct windows *windows, bool all)
{
	int err = ledger_windows__sweep(windows->ledger,
					all ? UINT64_MAX : clock__now_ns() - SWEEP_AFTER_NS);

	if (err)
		return err;
	ledger_windows__next_period(windows->ledger, windows->slow_ns);
	err = ledger__poll(windows->ledger, 0);
	return err < 0 ? err : 0;
}

int windows__write(struct windows *windows, int64_t from, int64_t to)
{
	uint32_t class, bucket;
	int err = 0;

	for (uint32_t i = 0; !err && ledger_windows__band(windows->ledger, i, &class, &bucket);
	     i++) {
		err = write_band(windows, i, from, to);
		if (!err)
			err = write_kept(windows, &windows->bands[i]);
	}
	for (size_t i = 0; i < WINDOW_CLASSES && !err; i++)
		err = write_slow(windows, i);
	return err;
}
