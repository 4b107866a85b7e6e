/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows are encoded by the caller, because they are valid only during the call; that is a copy. The
 * sink's thread does what takes longer: it compresses, writes and sends.
 */
#include "store/sink.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/threads.h"
#include "vocabulary/counters.h"

#define MOST_INSERT_BYTES (2u << 20)
#define MOST_QUEUE_BYTES  (16u << 20)
#define LONGEST_WAIT_MS   10000
#define MS_NS             UINT64_C(1000000)

/* A block on its way to the spool. */
struct parcel {
	struct parcel *next;
	struct batch_id id;
	struct native_block block; /* `bytes` and `columns` are owned */
};

struct sink {
	struct batch_id id; /* of the host: without table, minute and part */
	size_t most_insert_bytes;
	pthread_t thread;
	struct http *http;
	struct spool *spool;
	struct sender *sender;
	bool is_started;
	uint64_t lost_told; /* batches whose loss is in `quality`; of the caller's thread */

	pthread_mutex_t mutex; /* protects what follows */
	struct parcel *first, **last;
	size_t queue_bytes;
	uint64_t queue_dropped;
	bool is_over;
	struct sink_status status;
};

static void parcel_free(struct parcel *parcel)
{
	free((void *)parcel->block.bytes);
	free((void *)parcel->block.columns);
	free(parcel);
}

DEFINE_CLEANUP(struct parcel *, parcel_free)

static uint64_t read_clock_ns(void *context)
{
	return clock__now_ns();
}

static uint64_t read_unix_s(void *context)
{
	return clock__read_ns(CLOCK_REALTIME) / 1000000000;
}

static uint64_t read_random(void *context)
{
	uint64_t bits;

	if (getrandom(&bits, sizeof(bits), GRND_NONBLOCK) != sizeof(bits))
		bits = clock__now_ns() * UINT64_C(0x9e3779b97f4a7c15);
	return bits;
}

/* --- the sink's thread --- */

/* The next block; NULL: none. */
static struct parcel *take_parcel(struct sink *sink)
{
	struct parcel *parcel;

	pthread_mutex_lock(&sink->mutex);
	parcel = sink->first;
	if (parcel) {
		sink->first = parcel->next;
		if (!sink->first)
			sink->last = &sink->first;
		sink->queue_bytes -= parcel->block.size;
	}
	pthread_mutex_unlock(&sink->mutex);
	return parcel;
}

static void count_drop(struct sink *sink)
{
	pthread_mutex_lock(&sink->mutex);
	sink->queue_dropped++;
	pthread_mutex_unlock(&sink->mutex);
}

static void empty_queue(struct sink *sink)
{
	struct parcel *next;

	while ((next = take_parcel(sink))) {
		cleanup(parcel_free_p) struct parcel *parcel = next;
		void *packed;
		size_t bytes;

		if (batch__pack(&parcel->block, &packed, &bytes))
			count_drop(sink);
		else
			sender__add(sink->sender, &parcel->id, packed, bytes);
	}
}

/* Whether the sink goes on. */
static bool publish(struct sink *sink)
{
	struct sink_status status;
	bool goes_on;

	spool__status(sink->spool, &status.spool);
	sender__status(sink->sender, &status.sender);
	pthread_mutex_lock(&sink->mutex);
	status.queue_dropped = sink->queue_dropped;
	sink->status = status;
	goes_on = !sink->is_over;
	pthread_mutex_unlock(&sink->mutex);
	return goes_on;
}

static unsigned int wait_ms(uint64_t until_ns)
{
	uint64_t now = clock__now_ns();

	if (until_ns && until_ns <= now)
		return 0;
	if (!until_ns || until_ns - now > LONGEST_WAIT_MS * MS_NS)
		return LONGEST_WAIT_MS;
	return (unsigned int)((until_ns - now) / MS_NS) + 1;
}

static void *run(void *context)
{
	struct sink *sink = context;

	for (;;) {
		uint64_t next_ns;

		empty_queue(sink);
		next_ns = sender__step(sink->sender);
		if (!publish(sink))
			break;
		http__wait(sink->http, wait_ms(next_ns));
	}
	empty_queue(sink);
	return NULL;
}

/* --- the caller's thread --- */

static int copy_block(const struct native_block *block, struct parcel **ret)
{
	cleanup(parcel_free_p) struct parcel *parcel = calloc(1, sizeof(*parcel));
	void *bytes;

	if (!parcel)
		return -ENOMEM;
	parcel->block = *block;
	parcel->block.bytes = bytes = malloc(block->size);
	parcel->block.columns = strdup(block->columns);
	if (!bytes || !parcel->block.columns)
		return -ENOMEM;
	memcpy(bytes, block->bytes, block->size);
	*ret = TAKE(parcel);
	return 0;
}

/* What queue() needs to know of a call of sink__push(). */
struct pushing {
	struct sink *sink;
	struct batch_id id;
};

/* Drops are counted and do not stop the other parts. */
static int queue(void *context, const struct native_block *block)
{
	struct pushing *pushing = context;
	struct sink *sink = pushing->sink;
	cleanup(parcel_free_p) struct parcel *parcel = NULL;
	int err = copy_block(block, &parcel);

	pthread_mutex_lock(&sink->mutex);
	if (!err && sink->queue_bytes + block->size > MOST_QUEUE_BYTES)
		err = -ENOBUFS;
	if (err) {
		sink->queue_dropped++;
	} else {
		parcel->id = pushing->id;
		parcel->id.part = block->part;
		parcel->next = NULL;
		sink->queue_bytes += block->size;
		*sink->last = parcel;
		sink->last = &parcel->next;
		parcel = NULL;
	}
	pthread_mutex_unlock(&sink->mutex);
	return 0;
}

static int push_rows(struct sink *sink, enum fact_table table, const struct fact_context *context,
		     const void *rows, size_t count)
{
	struct pushing pushing = { sink, sink->id };
	uint64_t dropped;
	int err;

	pushing.id.table = table;
	pushing.id.minute_s = context->bucket_s;
	pthread_mutex_lock(&sink->mutex);
	dropped = sink->queue_dropped;
	pthread_mutex_unlock(&sink->mutex);
	err = fact__encode(table, context, rows, count, sink->most_insert_bytes, queue, &pushing);
	pthread_mutex_lock(&sink->mutex);
	sink->queue_dropped += err != 0;
	if (!err && sink->queue_dropped != dropped)
		err = -ENOBUFS;
	pthread_mutex_unlock(&sink->mutex);
	http__wake(sink->http);
	return err;
}

uint64_t sink__lost(struct sink *sink)
{
	struct sink_status status;

	sink__status(sink, &status);
	return status.spool.dropped + status.spool.corrupt + status.spool.refused +
	       status.queue_dropped;
}

/* Readers must not take the rows of other tables for complete. */
static int push_quality(struct sink *sink, const struct fact_context *context, const void *rows,
			size_t count)
{
	cleanup(free_p) struct fact_quality *all = calloc(count + 1, sizeof(*all));
	uint64_t lost = sink__lost(sink);
	int err;

	if (!all)
		return push_rows(sink, FACT_QUALITY, context, rows, count);
	if (count)
		memcpy(all, rows, count * sizeof(*all));
	if (lost > sink->lost_told)
		all[count++] = (struct fact_quality) { counters__words(COUNTER_BATCHES_LOST)->name,
						       lost - sink->lost_told };
	err = push_rows(sink, FACT_QUALITY, context, all, count);
	if (!err)
		sink->lost_told = lost;
	return err;
}

int sink__push(struct sink *sink, enum fact_table table, const struct fact_context *context,
	       const void *rows, size_t count)
{
	if (table == FACT_QUALITY)
		return push_quality(sink, context, rows, count);
	return push_rows(sink, table, context, rows, count);
}

/* Unique on this boot, also after a restart of the agent. */
void sink__begin_epoch(struct sink *sink)
{
	uint64_t epoch = clock__read_ns(CLOCK_BOOTTIME) / MS_NS;

	sink->id.epoch = epoch > sink->id.epoch ? epoch : sink->id.epoch + 1;
}

void sink__status(struct sink *sink, struct sink_status *ret)
{
	pthread_mutex_lock(&sink->mutex);
	*ret = sink->status;
	ret->queue_dropped = sink->queue_dropped;
	pthread_mutex_unlock(&sink->mutex);
}

/* --- life --- */

static int copy_boot(const char *boot, char ret[static BATCH_BOOT_BYTES])
{
	size_t length = 0;

	for (; *boot; boot++) {
		if (!strchr("0123456789abcdef", *boot))
			continue;
		if (length + 1 == BATCH_BOOT_BYTES)
			return -EINVAL;
		ret[length++] = *boot;
	}
	ret[length] = '\0';
	return length ? 0 : -EINVAL;
}

static int start_thread(struct sink *sink)
{
	int err = threads__start(run, sink, &sink->thread);

	sink->is_started = !err;
	return err;
}

static int open_parts(struct sink *sink, const struct sink_options *options)
{
	struct sender_clock clock = { read_clock_ns, read_unix_s, read_random, NULL };
	struct http_transport transport;
	int err = copy_boot(options->boot, sink->id.boot);

	err = err ?: http__new(&options->http, &sink->http);
	err = err ?: spool__open(&options->spool, &sink->spool);
	if (err)
		return err;
	transport = http__transport(sink->http);
	err = sender__new(&options->sender, &clock, &transport, sink->spool, &sink->sender);
	return err ?: start_thread(sink);
}

static void sink_free_p(struct sink **sink)
{
	sink__free(*sink);
}

int sink__new(const struct sink_options *options, struct sink **ret)
{
	cleanup(sink_free_p) struct sink *sink = calloc(1, sizeof(*sink));
	int err;

	if (!sink)
		return -ENOMEM;
	pthread_mutex_init(&sink->mutex, NULL);
	sink->last = &sink->first;
	sink->id.host_id = options->sender.host_id;
	sink->most_insert_bytes = options->most_insert_bytes ?: MOST_INSERT_BYTES;
	sink__begin_epoch(sink);
	err = open_parts(sink, options);
	if (err)
		return err;
	*ret = TAKE(sink);
	return 0;
}

static void end_thread(struct sink *sink)
{
	pthread_mutex_lock(&sink->mutex);
	sink->is_over = true;
	pthread_mutex_unlock(&sink->mutex);
	http__wake(sink->http);
	pthread_join(sink->thread, NULL);
}

void sink__free(struct sink *sink)
{
	struct parcel *parcel;

	if (!sink)
		return;
	if (sink->is_started)
		end_thread(sink);
	while ((parcel = take_parcel(sink)))
		parcel_free(parcel);
	sender__free(sink->sender);
	http__free(sink->http);
	spool__free(sink->spool);
	pthread_mutex_destroy(&sink->mutex);
	free(sink);
}
