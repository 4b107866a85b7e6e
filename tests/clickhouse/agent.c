/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store's code without an agent, for tests/clickhouse/run:
 *
 *   store_agent schema [CLUSTER]          prints the schema
 *   store_agent rollup FROM UNTIL         prints what computes hourly sums
 *   store_agent fill FOLDER MINUTE COUNT  adds minutes to a spool; prints what the store must have
 *   store_agent send FOLDER URL SPEED ZERO  sends until the spool is empty
 *   store_agent budget URL MINUTE SERVICE  asks for the budget as an agent does; prints the
 *                                         probability of a minute and how many of 1,000 hosts chose
 * it
 *
 * With SPEED, the sender's time passes faster: pauses of minutes become seconds. ZERO is the Unix
 * time at which both clocks show the same, so that restarted senders go on in the same time.
 * STORE_CA, STORE_USER and STORE_PASSWORD name files and a user.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "agent/budgeting.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "store/asker.h"
#include "store/schema.h"
#include "store/sender.h"
#include "vocabulary/states.h"

#define HOST_ID  UINT64_C(0x5eed)
#define SERVICES 3
#define STEP_NS  UINT64_C(1000003)
/* Small enough that the ledger of a minute is split. */
#define MOST_BYTES 3000

static const struct workload workloads[SERVICES] = {
	{ 11, 1, "web", "1.0", "shop", "web-1", "nginx", "c1", "/a", "", "nginx:1", 1, 2, 0 },
	{ 12, 2, "db", "", "shop", "db-1", "postgres", "c2", "/b", "", "", 1, 2, 0 },
	{ 13, 3, "cron.service", "", "", "", "", "", "/c", "cron.service", "", 1, 2, 0 },
};

static const struct workload *find(void *context, uint64_t id)
{
	return id >= 11 && id < 11 + SERVICES ? &workloads[id - 11] : NULL;
}

struct filling {
	struct spool *spool;
	struct batch_id id;
	uint64_t batches;
};

static int add_batch(void *context, const struct native_block *block)
{
	struct filling *filling = context;
	void *packed;
	size_t bytes;
	int err = batch__pack(block, &packed, &bytes);

	filling->id.part = block->part;
	filling->batches++;
	return err ?: spool__put(filling->spool, &filling->id, packed, bytes);
}

static int encode(struct filling *filling, const struct fact_context *context,
		  enum fact_table table, const void *rows, size_t count)
{
	filling->id.table = table;
	filling->id.minute_s = context->bucket_s;
	return fact__encode(table, context, rows, count, MOST_BYTES, add_batch, filling);
}

/* A row of every state for each service. Returns the sum of nanoseconds. */
static uint64_t make_ledger(uint64_t minute_s, struct bucket_row *rows, size_t *ret_count)
{
	uint64_t sum = 0;
	size_t count = 0;

	for (uint64_t id = 11; id < 11 + SERVICES; id++)
		for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
			struct bucket_row *row = &rows[count++];

			*row = (struct bucket_row) {
				.key = { .workload = id,
					 .threads = "worker-*",
					 .object = "futex",
					 .by_service = "web",
					 .by_threads = "",
					 .slot = (uint8_t)slot,
					 .kind = (uint8_t)states__words(slot)->kind,
					 .evidence = EVIDENCE_WAKER },
				.ns = STEP_NS * (slot + minute_s % 7919),
				.count = slot,
			};
			sum += row->ns;
		}
	*ret_count = count;
	return sum;
}

static int fill_minute(struct filling *filling, uint64_t minute_s, bool with_maps,
		       uint64_t totals[4])
{
	static const struct fact_host host = { HOST_ID, "", "test", "host", "6.1", "x86_64", 2 };
	static const uint16_t buckets[] = { 1, 9, 300 };
	static const uint64_t counts[] = { 4, 5, 6 };
	const struct fact_context context = { &host, minute_s, find, NULL };
	const struct fact_quality quality[] = { { "lost_samples", minute_s % 10 },
						{ "host_up", 1 } };
	const struct fact_histogram histogram = { 11,      "tcp",  "rtt", "eth0", "send",
						  buckets, counts, 3,     15,     300 };
	struct bucket_row rows[SERVICES * SLOT_COUNT];
	size_t count;
	int err;

	totals[1] += make_ledger(minute_s, rows, &count);
	totals[0] += count;
	totals[2] += 2;
	totals[3] += with_maps ? 15 : 0;
	err = encode(filling, &context, FACT_LEDGER, rows, count);
	err = err ?: encode(filling, &context, FACT_QUALITY, quality, 2);
	err = err ?: encode(filling, &context, FACT_WORKLOAD, workloads, SERVICES);
	/* Version 18.16 has no maps. */
	if (!err && with_maps)
		err = encode(filling, &context, FACT_HISTOGRAMS, &histogram, 1);
	return err;
}

static int fill(const char *folder, uint64_t minute_s, uint64_t count)
{
	const struct spool_options options = { .folder = folder };
	struct filling filling = { .id = { .host_id = HOST_ID, .boot = "b007", .epoch = 1 } };
	uint64_t totals[4] = { 0 };
	int err = spool__open(&options, &filling.spool);

	for (uint64_t i = 0; !err && i < count; i++)
		err = fill_minute(&filling, minute_s + i * 60, !getenv("STORE_OLD"), totals);
	if (!err)
		printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", totals[0],
		       totals[1], totals[2], totals[3], filling.batches);
	spool__free(filling.spool);
	return err;
}

/* --- sending --- */

struct fast_clock {
	uint64_t speed, zero_s;
};

static uint64_t fast_ns(void *context)
{
	const struct fast_clock *clock = context;

	return clock__now_ns() * clock->speed;
}

static uint64_t fast_unix_s(void *context)
{
	const struct fast_clock *clock = context;
	uint64_t now_ms = clock__read_ns(CLOCK_REALTIME) / 1000000;

	return clock->zero_s + (now_ms - clock->zero_s * 1000) * clock->speed / 1000;
}

static uint64_t random_bits(void *context)
{
	uint64_t bits = 0;

	return getrandom(&bits, sizeof(bits), 0) > 0 ? bits : 0;
}

static void print_problem(const struct sender *sender, char last[static 256])
{
	struct sender_status status;

	sender__status(sender, &status);
	if (strcmp(status.problem, last) != 0)
		fprintf(stderr, "%s\n", status.problem);
	memcpy(last, status.problem, sizeof(status.problem));
}

static void run(struct sender *sender, struct spool *spool, struct http *http, uint64_t speed)
{
	struct spool_status status;
	char problem[256] = "";

	do {
		uint64_t next_ns = sender__step(sender), now_ns = clock__now_ns() * speed;
		uint64_t wait_ms = next_ns > now_ns ? (next_ns - now_ns) / speed / 1000000 + 1 : 0;

		http__wait(http, !next_ns || wait_ms > 100 ? 100 : (unsigned int)wait_ms);
		spool__status(spool, &status);
		print_problem(sender, problem);
	} while (status.batches);
}

static void print_status(const struct sender *sender, const struct spool *spool)
{
	struct sender_status status;
	struct spool_status files;

	sender__status(sender, &status);
	spool__status(spool, &files);
	for (unsigned int i = 0; i < SENDER_RESULTS; i++)
		if (status.results[i])
			printf("%s=%" PRIu64 " ", sender__word(i), status.results[i]);
	printf("refused_files=%" PRIu64 " dropped=%" PRIu64 " version=%u\n", files.refused,
	       files.dropped, status.server_version);
}

static int send_all(const char *folder, const char *url, struct fast_clock *fast)
{
	const struct spool_options files = { .folder = folder };
	const struct http_options options = { .url = url,
					      .ca_file = getenv("STORE_CA"),
					      .user = getenv("STORE_USER"),
					      .password_file = getenv("STORE_PASSWORD"),
					      .timeout_s = 10 };
	const struct sender_options sending = { .host_id = HOST_ID, .no_spread = true };
	const struct sender_clock clock = { fast_ns, fast_unix_s, random_bits, fast };
	struct http_transport transport;
	struct http *http = NULL;
	struct spool *spool = NULL;
	struct sender *sender = NULL;
	int err = http__new(&options, &http);

	err = err ?: spool__open(&files, &spool);
	if (!err) {
		transport = http__transport(http);
		err = sender__new(&sending, &clock, &transport, spool, &sender);
	}
	if (!err) {
		run(sender, spool, http, fast->speed);
		print_status(sender, spool);
	}
	sender__free(sender);
	http__free(http);
	spool__free(spool);
	return err;
}

static int ask_budget(const char *url, const struct budgeting_services *services,
		      struct budgeting *budgeting)
{
	const struct asker_options options = { .http = { .url = url }, .interval_ns = 1000000000 };
	char problem[ASKER_PROBLEM_BYTES] = "no answer", *sql;
	struct asker_answer answer = {};
	struct asker *asker;
	int err = budgeting__ask("gapless", "", "", services, &sql);

	err = err ?: asker__new(&options, &asker);
	if (err)
		return err;
	err = asker__set(asker, sql) ?: -EAGAIN;
	for (int i = 0; i < 300 && err == -EAGAIN; i++) {
		usleep(100000);
		err = asker__take(asker, &answer, problem);
	}
	asker__free(asker);
	free(sql);
	if (err)
		fprintf(stderr, "%s\n", problem);
	err = err ?: budgeting__take(budgeting, answer.bytes, answer.size, 0);
	free(answer.bytes);
	return err;
}

static int show_budget(const char *url, uint64_t minute_s, const char *service)
{
	const struct budgeting_services services = { &service, 1 };
	struct budgeting budgeting = { .fallback = 0.01 };
	double probability = 0;
	unsigned int chosen = 0;
	int err = ask_budget(url, &services, &budgeting);

	for (uint64_t host = 1; host <= 1000; host++) {
		budgeting.host_id = host;
		chosen += budgeting__choose(&budgeting, &services, minute_s, 0, &probability);
	}
	if (!err)
		printf("%.4f %u\n", probability, chosen);
	budgeting__release(&budgeting);
	return err;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";
	int err = -EINVAL;

	if (!strcmp(verb, "schema"))
		err = store__print_schema(stdout, &(struct schema_options) { .cluster = argv[2] });
	else if (!strcmp(verb, "rollup") && argc == 4)
		err = store__print_rollup(stdout, &(struct schema_options) { 0 },
					  strtoull(argv[2], NULL, 10), strtoull(argv[3], NULL, 10));
	else if (!strcmp(verb, "fill") && argc == 5)
		err = fill(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10));
	else if (!strcmp(verb, "send") && argc == 6)
		err = send_all(argv[2], argv[3],
			       &(struct fast_clock) { strtoull(argv[4], NULL, 10),
						      strtoull(argv[5], NULL, 10) });
	else if (!strcmp(verb, "budget") && argc == 5)
		err = show_budget(argv[2], strtoull(argv[3], NULL, 10), argv[4]);
	if (err)
		fprintf(stderr, "store_agent %s: %s\n", verb, strerror(-err));
	return err ? 1 : 0;
}
