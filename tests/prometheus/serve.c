/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * serve SERVICES PORT: serves the metrics of a made-up machine on loopback, one step a second,
 * until it is killed. Step n adds n ms to each state of each service, so everybody can check the
 * sums.
 *
 * serve SERVICES: prints the size of the pages and the time that it takes to make and to serve
 * them.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parse.h"
#include "metrics/server.h"
#include "metrics/totals.h"
#include "vocabulary/states.h"

#define SLOTS   9 /* of a service, as measured on real machines */
#define STEP_NS UINT64_C(10000000000)
#define MS_NS   UINT64_C(1000000)
#define ROUNDS  20

static const enum ledger_slot slots[SLOTS] = {
	SLOT_RUN_USER, SLOT_RUN_KERNEL,      SLOT_READY_WOKEN, SLOT_READY_PREEMPTED, SLOT_WAIT_DISK,
	SLOT_WAIT_NET, SLOT_WAIT_LOCK_OWNED, SLOT_WAIT_POLL,   SLOT_WAIT_SLEEP,
};

static void check(const char *what, int err)
{
	if (!err)
		return;
	fprintf(stderr, "serve: %s: %s\n", what, strerror(-err));
	exit(1);
}

static const struct workload *find_workload(void *context, uint64_t id)
{
	static char service[32], namespaces[2][8] = { "default", "shop" };
	static struct workload workload = { .service = service };

	snprintf(service, sizeof(service), "service-%03u", (unsigned int)id);
	workload.namespace_name = namespaces[id % 2];
	return &workload;
}

static void add_signals(struct totals *totals)
{
	uint32_t buckets[HISTOGRAM_BUCKETS] = {};
	struct totals_signal rows[] = {
		{ "block", TOTALS_SECONDS, "read", "disk", 3000000, buckets },
		{ "tcp", TOTALS_BYTES, "send", "loopback", 1000, NULL },
		{ "tcp_retransmits", TOTALS_EVENTS, "send", "private", 1, NULL },
	};

	buckets[histogram_bucket(3000000)] = 1;
	check("signals", totals__add_signals(totals, rows, 3));
}

/* In each state, each step has 10 waits: of 1 µs, 3 µs, 10 µs, …, 30 ms. */
static void add_waits(struct totals *totals)
{
	static uint32_t buckets[HISTOGRAM_BUCKETS];

	for (uint64_t ns = 1000; ns <= 10000000; ns *= 10) {
		buckets[histogram_bucket(ns)]++;
		buckets[histogram_bucket(3 * ns)]++;
	}
	for (enum ledger_slot slot = SLOT_WAIT_FIRST; slot < SLOT_WAIT_END; slot++)
		totals__take_waits(totals, slot, buckets);
}

static void add_step(struct totals *totals, unsigned int services, unsigned int step)
{
	struct bucket_row *rows = calloc((size_t)services * SLOTS, sizeof(*rows));
	size_t count = 0;

	if (!rows)
		exit(1);
	for (unsigned int i = 1; i <= services; i++)
		for (int k = 0; k < SLOTS; k++)
			rows[count++] = (struct bucket_row) {
				.key = { .workload = i,
					 .slot = (uint8_t)slots[k],
					 .kind = (uint8_t)states__words(slots[k])->kind },
				.ns = step * MS_NS,
				.count = 3,
				.thread_ns = k ? 0 : step * MS_NS * SLOTS,
			};
	check("step", totals__add_step(totals, rows, count, STEP_NS, find_workload, NULL));
	add_waits(totals);
	add_signals(totals);
	free(rows);
}

static struct pages *make_pages(const struct totals *totals)
{
	static const struct totals_lost lost[] = { { "ring_full", 0 }, { "waits_full", 3 } };
	static const struct totals_push pushes[] = { { "clickhouse", "ok", 7 } };
	struct totals_agent agent = {
		.version = "0.0.0",
		.kernel = "0.0",
		.level = "sched",
		.lost = lost,
		.lost_count = 2,
		.pushes = pushes,
		.push_count = 1,
	};
	struct exposition *exposition = NULL;
	struct pages *pages = NULL;

	check("exposition", totals__expose(totals, &agent, &exposition));
	check("pages", pages__new(exposition, &pages));
	return pages;
}

static struct server *start(const char *address)
{
	struct server_options options = { .address = address, .most_scrapes_per_minute = 100000 };
	char message[SERVER_MESSAGE_BYTES];
	struct server *server;

	if (!server__new(&options, message, &server))
		return server;
	fprintf(stderr, "serve: %s\n", message);
	exit(1);
}

static void scrape(const struct server *server, const char *headers, size_t size)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(server__port(server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	static char answer[1 << 16];
	char request[512];
	size_t all = 0;
	ssize_t got;

	snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\nHost: x\r\n%s\r\n", headers);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    write(fd, request, strlen(request)) < 0)
		exit(1);
	while ((got = read(fd, answer, sizeof(answer))) > 0)
		all += (size_t)got;
	close(fd);
	if (all < size)
		exit(1);
}

static double ms_since(uint64_t start_ns)
{
	return (double)(clock__now_ns() - start_ns) / 1e6;
}

#define ACCEPT_PROTOBUF                                                                            \
	"Accept: application/vnd.google.protobuf;"                                                 \
	"proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n"

static void measure_page(const struct totals *totals, enum pages_format format, bool is_gzip)
{
	static const char *const names[] = { "text", "OpenMetrics", "protobuf" };
	static const char *const accepts[] = {
		"",
		"Accept: application/openmetrics-text\r\n",
		ACCEPT_PROTOBUF,
	};
	struct server *server = start("127.0.0.1:0");
	double make_ms = 1e9, first_ms = 1e9, scrape_ms = 1e9;
	char headers[256];
	const void *bytes;
	size_t size = 0, series = 0;

	snprintf(headers, sizeof(headers), "%s%s", accepts[format],
		 is_gzip ? "Accept-Encoding: gzip\r\n" : "");
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t start_ns = clock__now_ns();
		struct pages *pages = make_pages(totals);
		double ms;

		check("page", pages__get(pages, PAGES_PAGE(format, is_gzip), &bytes, &size));
		ms = ms_since(start_ns);
		make_ms = ms < make_ms ? ms : make_ms;
		series = pages__series(pages);
		pages__unref(pages);

		if (!i) {
			pages = make_pages(totals);
			server__publish(server, pages);
			pages__unref(pages);
		}
		start_ns = clock__now_ns();
		scrape(server, headers, size);
		ms = ms_since(start_ns);
		first_ms = i ? first_ms : ms;
		scrape_ms = ms < scrape_ms ? ms : scrape_ms;
	}
	printf("%-11s %-5s %5zu series %7zu bytes, made in %5.2f ms, scraped in %5.2f ms (first: "
	       "%5.2f ms)\n",
	       names[format], is_gzip ? "gzip" : "", series, size, make_ms, scrape_ms, first_ms);
	server__free(server);
}

int main(int argc, char **argv)
{
	struct totals_options options = { .detail = TOTALS_SERVICE };
	struct totals *totals = NULL;
	uint64_t services, port;
	uint64_t start_ns;
	char address[32];
	struct server *server;

	if (argc < 2 || argc > 3 || parse__number(argv[1], 0, 10000, &services) ||
	    (argc == 3 && parse__number(argv[2], 1, 65535, &port))) {
		fprintf(stderr, "usage: serve SERVICES [PORT]\n");
		return 2;
	}
	check("totals", totals__new(&options, &totals));
	if (argc == 2) {
		start_ns = clock__now_ns();
		for (unsigned int i = 1; i <= ROUNDS; i++)
			add_step(totals, (unsigned int)services, i);
		printf("%u services: a step is added in %.2f ms\n", (unsigned int)services,
		       ms_since(start_ns) / ROUNDS);
		for (unsigned int i = 0; i < PAGES_COUNT; i++)
			measure_page(totals, i / 2, i % 2);
		totals__free(totals);
		return 0;
	}
	snprintf(address, sizeof(address), "127.0.0.1:%u", (unsigned int)port);
	server = start(address);
	for (unsigned int step = 1;; step++, sleep(1)) {
		struct pages *pages;

		add_step(totals, (unsigned int)services, step);
		pages = make_pages(totals);
		server__publish(server, pages);
		pages__unref(pages);
	}
}
