/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests over real sockets, to a server that follows a script, and may be hostile. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "store.h"
#include "store/asker.h"
#include "store/http.h"
#include "store/sink.h"
#include "vocabulary/counters.h"

#define MOST_REQUEST (1 << 20)

/* How the server answers. */
enum conduct {
	CONDUCT_TEXT,    /* sends `text` and closes */
	CONDUCT_ENDLESS, /* a body without an end */
	CONDUCT_HEADERS, /* headers without an end */
	CONDUCT_TRICKLE, /* a byte every 100 ms */
	CONDUCT_NOTHING, /* reads and is silent */
	CONDUCT_CLICKHOUSE,
};

static struct server {
	int fd;
	unsigned int port;
	pthread_t thread;
	atomic_bool is_over;
	enum conduct conduct;
	const char *text;
	char request[MOST_REQUEST]; /* the last one */
	size_t request_bytes;
	atomic_uint requests, inserts;
} server;

static char folder[64];

static void send_text(int fd, const char *text)
{
	size_t length = strlen(text);

	while (length) {
		ssize_t n = send(fd, text, length, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		text += n;
		length -= (size_t)n;
	}
}

static void send_endless(int fd, const char *head, const char *more, useconds_t pause_us)
{
	send_text(fd, head);
	while (!server.is_over && send(fd, more, strlen(more), MSG_NOSIGNAL) > 0)
		if (pause_us)
			usleep(pause_us);
}

static void answer_as_clickhouse(int fd)
{
	char text[256];
	const char *body = "";

	if (strstr(server.request, "meta"))
		body = "1\n";
	else if (strstr(server.request, "version"))
		body = "26.7.1.1\n";
	else
		server.inserts++;
	snprintf(text, sizeof(text),
		 "HTTP/1.1 200 OK\r\nX-ClickHouse-Summary: {}\r\nContent-Length: %zu\r\n\r\n%s",
		 strlen(body), body);
	send_text(fd, text);
}

/* Reads the headers and as much of a body as they announce. */
static void read_request(int fd)
{
	size_t size = 0, wanted = SIZE_MAX;

	while (size < wanted && size + 1 < MOST_REQUEST) {
		ssize_t n = recv(fd, server.request + size, MOST_REQUEST - 1 - size, 0);
		const char *end, *length;

		if (n <= 0)
			break;
		size += (size_t)n;
		server.request[size] = '\0';
		end = strstr(server.request, "\r\n\r\n");
		if (!end)
			continue;
		length = strstr(server.request, "Content-Length: ");
		wanted = (size_t)(end + 4 - server.request) +
			 (length && length < end ? strtoul(length + 16, NULL, 10) : 0);
	}
	server.request_bytes = size;
}

static void answer_one(int fd)
{
	read_request(fd);
	server.requests++;
	switch (server.conduct) {
	case CONDUCT_TEXT:
		send_text(fd, server.text);
		break;
	case CONDUCT_ENDLESS:
		send_endless(fd, "HTTP/1.1 200 OK\r\n\r\n", "all work and no play ", 0);
		break;
	case CONDUCT_HEADERS:
		send_endless(fd, "HTTP/1.1 200 OK\r\n", "X-Header: all work and no play\r\n", 0);
		break;
	case CONDUCT_TRICKLE:
		send_endless(fd, "HTTP/1.1 200 OK\r\n\r\n", "x", 100000);
		break;
	case CONDUCT_NOTHING:
		while (!server.is_over)
			usleep(10000);
		break;
	default:
		answer_as_clickhouse(fd);
	}
}

static void *serve(void *context)
{
	while (!server.is_over) {
		int fd = accept(server.fd, NULL, NULL);

		if (fd < 0)
			break;
		answer_one(fd);
		close(fd);
	}
	return NULL;
}

static void start_server(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(at);

	memset(&server, 0, sizeof(server));
	server.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.fd < 0)
		abort();
	assert_int_equal(bind(server.fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(server.fd, 8), 0);
	assert_int_equal(getsockname(server.fd, (struct sockaddr *)&at, &length), 0);
	server.port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&server.thread, NULL, serve, NULL), 0);
}

static int begin(void **state)
{
	store_make_folder(folder);
	start_server();
	return 0;
}

static void stop_server(void)
{
	if (server.is_over)
		return;
	server.is_over = true;
	shutdown(server.fd, SHUT_RDWR);
	pthread_join(server.thread, NULL);
	close(server.fd);
}

static int end(void **state)
{
	stop_server();
	store_remove_folder(folder);
	return 0;
}

static const char *url(void)
{
	static char text[64];

	snprintf(text, sizeof(text), "http://127.0.0.1:%u/", server.port);
	return text;
}

/* One request; the answer. */
static const struct answer *ask(const struct http_options *options, const void *body, size_t bytes)
{
	static struct answer answer;
	const struct http_request request = { "query=SELECT%201", body, bytes, body };
	struct http *http = NULL;
	struct http_transport transport;
	int err;

	assert_int_equal(http__new(options, &http), 0);
	transport = http__transport(http);
	assert_int_equal(transport.start(transport.context, &request), 0);
	while ((err = transport.poll(transport.context, &answer)) == -EAGAIN)
		http__wait(http, 100);
	assert_int_equal(err, 0);
	http__free(http);
	return &answer;
}

static const struct answer *ask_simply(void)
{
	const struct http_options options = { .url = url(), .timeout_s = 1 };

	return ask(&options, NULL, 0);
}

static void write_secret(const char *name, const char *text, char ret[static 300])
{
	FILE *file;

	snprintf(ret, 300, "%s/%s", folder, name);
	file = fopen(ret, "w");
	if (!file)
		abort();
	fputs(text, file);
	fclose(file);
}

static void requests_carry_body_user_and_secrets_from_files(void **state)
{
	char password[300], token[300];
	struct http_options options = { .url = url(), .user = "agent" };
	const struct answer *answer;

	write_secret("password", "s3cret\n", password);
	write_secret("token", "t0ken", token);
	options.password_file = password;
	options.token_file = token;
	server.text = "HTTP/1.1 200 OK\r\nX-ClickHouse-Exception-Code: 60\r\nretry-after: 7\r\n"
		      "Content-Length: 3\r\n\r\nhi\n";
	answer = ask(&options, "body\0bytes", 10);
	assert_int_equal(answer->status, 200);
	assert_string_equal(answer->body, "hi\n");
	assert_int_equal(answer->exception, 60);
	assert_int_equal(answer->retry_after_s, 7);
	assert_non_null(strstr(server.request, "POST /?query=SELECT%201 HTTP/1.1\r\n"));
	assert_non_null(strstr(server.request, "Content-Encoding: zstd\r\n"));
	assert_non_null(strstr(server.request, "X-ClickHouse-User: agent\r\n"));
	assert_non_null(strstr(server.request, "X-ClickHouse-Key: s3cret\r\n"));
	assert_non_null(strstr(server.request, "Authorization: Bearer t0ken\r\n"));
	assert_null(strstr(server.request, "Expect"));
	assert_memory_equal(server.request + server.request_bytes - 10, "body\0bytes", 10);
}

static void a_changed_password_is_used_at_once(void **state)
{
	const struct http_request request = { "query=1", NULL, 0, false };
	struct http_options options = { .url = url(), .user = "agent" };
	static const char *const passwords[] = { "one", "two" };
	char password[300], line[64];
	struct http_transport transport;
	struct http *http = NULL;
	struct answer answer;

	write_secret("password", "none", password);
	options.password_file = password;
	server.text = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	assert_int_equal(http__new(&options, &http), 0);
	transport = http__transport(http);
	for (int i = 0; i < 2; i++) {
		write_secret("password", passwords[i], password);
		assert_int_equal(transport.start(transport.context, &request), 0);
		while (transport.poll(transport.context, &answer))
			http__wait(http, 100);
		snprintf(line, sizeof(line), "X-ClickHouse-Key: %s\r\n", passwords[i]);
		assert_non_null(strstr(server.request, line));
	}
	/* Missing, empty, or with a line end inside, which would be another header. */
	write_secret("password", "a\nX-Evil: 1", password);
	assert_int_equal(transport.start(transport.context, &request), -EINVAL);
	write_secret("password", "\n", password);
	assert_int_equal(transport.start(transport.context, &request), -EINVAL);
	unlink(password);
	assert_int_equal(transport.start(transport.context, &request), -ENOENT);
	assert_int_equal(server.requests, 2);
	http__free(http);
}

static void a_redirect_is_not_followed(void **state)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 301 Moved\r\nLocation: http://127.0.0.1:%u/other\r\n"
		 "Content-Length: 0\r\n\r\n",
		 server.port);
	server.text = text;
	assert_int_equal(answer__means(ask_simply(), true), ANSWER_STRANGE);
	assert_int_equal(server.requests, 1);
}

static void garbage_is_no_answer(void **state)
{
	static const char *const texts[] = {
		"", "\1\2\3\4", "SSH-2.0-OpenSSH_9.2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		server.text = texts[i];
		assert_int_equal(answer__means(ask_simply(), true), ANSWER_LOST);
	}
}

static void hostile_answers_end(void **state)
{
	static const enum conduct conducts[] = { CONDUCT_ENDLESS, CONDUCT_HEADERS,
						 CONDUCT_TRICKLE };

	for (size_t i = 0; i < sizeof(conducts) / sizeof(*conducts); i++) {
		uint64_t start_ns = clock__now_ns();

		server.conduct = conducts[i];
		assert_int_equal(answer__means(ask_simply(), true), ANSWER_LOST);
		assert_true(clock__now_ns() - start_ns < UINT64_C(3000000000));
	}
}

static void silence_is_given_up_and_may_be_stored(void **state)
{
	const struct answer *answer;

	server.conduct = CONDUCT_NOTHING;
	answer = ask_simply();
	assert_int_equal(answer->error, -ETIMEDOUT);
	assert_false(answer->unreached);
	assert_false(answer__is_certain(answer__means(answer, true), answer));
}

static void nobody_there_is_certainly_not_stored(void **state)
{
	struct http_options options = { .url = url(), .timeout_s = 1 };
	const struct answer *answer;

	stop_server();
	answer = ask(&options, NULL, 0);
	assert_true(answer->unreached);
	assert_int_equal(answer__means(answer, true), ANSWER_UNREACHED);
}

static void a_certificate_that_is_not_ours_is_refused(void **state)
{
	char https[64], ca[300];
	struct http_options options = { .url = https, .timeout_s = 2, .ca_file = ca };
	const struct answer *answer;

	/* The server does not even speak TLS. */
	server.text = "HTTP/1.1 400 Bad\r\n\r\n";
	snprintf(https, sizeof(https), "https://127.0.0.1:%u", server.port);
	write_secret("ca", "not a certificate", ca);
	answer = ask(&options, NULL, 0);
	assert_int_equal(answer->error, -EKEYREJECTED);
	assert_true(answer->unreached);
}

static void odd_addresses_are_refused(void **state)
{
	static const char *const urls[] = { "ftp://x", "file:///etc/passwd", "x", "http://a@b",
					    "http://a/?user=x" };

	for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
		const struct http_options options = { .url = urls[i] };
		struct http *http = NULL;

		assert_int_equal(http__new(&options, &http), -EINVAL);
	}
}

/* --- questions again and again --- */

static struct asker *start_asker(uint64_t interval_ms)
{
	const struct asker_options options = { .http = { .url = url(), .timeout_s = 1 },
					       .interval_ns = interval_ms * 1000000 };
	struct asker *asker = NULL;

	assert_int_equal(asker__new(&options, &asker), 0);
	return asker;
}

static int next_answer(struct asker *asker, struct asker_answer *ret,
		       char problem[static ASKER_PROBLEM_BYTES])
{
	int err = -EAGAIN;

	for (int i = 0; i < 1000 && err == -EAGAIN; i++) {
		err = asker__take(asker, ret, problem);
		if (err == -EAGAIN)
			usleep(10000);
	}
	return err;
}

static void a_question_is_asked_again_and_can_change(void **state)
{
	struct asker *asker = start_asker(50);
	char problem[ASKER_PROBLEM_BYTES];
	struct asker_answer answer = {};

	server.text = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n1\t2";
	usleep(100000);
	assert_int_equal(server.requests, 0);
	assert_int_equal(asker__set(asker, "SELECT 1"), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(next_answer(asker, &answer, problem), 0);
		assert_string_equal(answer.bytes, "1\t2");
		assert_int_equal(answer.size, 3);
		free(answer.bytes);
	}
	assert_true(server.requests >= 3);
	assert_int_equal(asker__set(asker, "SELECT 2"), 0);
	for (int i = 0; i < 1000 && !strstr(server.request, "\r\n\r\nSELECT 2"); i++)
		usleep(10000);
	assert_non_null(strstr(server.request, "POST /? HTTP/1.1\r\n"));
	assert_non_null(strstr(server.request, "\r\n\r\nSELECT 2"));
	asker__free(asker);
}

static void an_asker_survives_a_hostile_server_and_nobody_waits(void **state)
{
	static const enum conduct conducts[] = { CONDUCT_ENDLESS, CONDUCT_HEADERS, CONDUCT_TRICKLE,
						 CONDUCT_TEXT };
	char problem[ASKER_PROBLEM_BYTES];
	struct asker_answer answer = {};
	struct asker *asker;
	uint64_t start_ns;

	server.text = "HTTP/1.1 500 Oh\r\nContent-Length: 8\r\n\r\nCode: 60";
	for (size_t i = 0; i < sizeof(conducts) / sizeof(*conducts); i++) {
		server.conduct = conducts[i];
		asker = start_asker(50);
		assert_int_equal(asker__set(asker, "SELECT 1"), 0);
		start_ns = clock__now_ns();
		assert_int_equal(asker__take(asker, &answer, problem), -EAGAIN);
		assert_true(clock__now_ns() - start_ns < UINT64_C(500000000));
		assert_int_equal(next_answer(asker, &answer, problem), -EIO);
		asker__free(asker);
	}
	assert_string_equal(problem, "no_table, status 500, code 60");
	assert_null(answer.bytes);
	/* Ends while the server is silent. */
	server.conduct = CONDUCT_NOTHING;
	asker = start_asker(50);
	assert_int_equal(asker__set(asker, "SELECT 1"), 0);
	usleep(100000);
	start_ns = clock__now_ns();
	asker__free(asker);
	assert_true(clock__now_ns() - start_ns < UINT64_C(500000000));
}

static void secrets_are_not_sent_to_other_machines_without_encryption(void **state)
{
	static const struct {
		const char *url;
		int err;
	} cases[] = { { "http://store:8123", -EPERM },
		      { "HTTP://10.0.0.1", -EPERM },
		      { "http://127.0.0.1.evil", -EPERM },
		      { "http://localhost.evil:1", -EPERM },
		      { "http://[::1].evil", -EPERM },
		      { "http://127.evil/", -EPERM },
		      { "https://store:8443", 0 },
		      { "http://127.0.0.1:8123", 0 },
		      { "http://LOCALHOST:8123/x", 0 },
		      { "http://[::1]:8123", 0 },
		      { "http://127.9.9.9", 0 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct http_options options = { .url = cases[i].url,
						.user = "x",
						.password_file = "/nonexistent" };
		struct http *http = NULL;

		assert_int_equal(http__new(&options, &http), cases[i].err);
		http__free(http);
		http = NULL;
		options = (struct http_options) { .url = cases[i].url, .token_file = "/none" };
		assert_int_equal(http__new(&options, &http), cases[i].err);
		http__free(http);
		http = NULL;
		options = (struct http_options) { .url = cases[i].url, .user = "x" };
		assert_int_equal(http__new(&options, &http), 0);
		http__free(http);
		http = NULL;
		/* Unless that is wanted. */
		options.password_file = "/none";
		options.shows_secrets = true;
		assert_int_equal(http__new(&options, &http), 0);
		http__free(http);
	}
	assert_non_null(strstr(http__problem(-EPERM), "[or store.plain_password: true"));
}

/* --- answers without a connection --- */

static enum answer_means means(int status, const char *body, bool is_insert)
{
	static struct answer answer;

	memset(&answer, 0, sizeof(answer));
	answer.status = status;
	assert_int_equal(answer__body(&answer, body, strlen(body)), 0);
	return answer__means(&answer, is_insert);
}

static void answers_have_their_meaning(void **state)
{
	assert_int_equal(means(200, "", true), ANSWER_OK);
	assert_int_equal(means(200, "\n", true), ANSWER_OK);
	assert_int_equal(means(200, "text", true), ANSWER_STRANGE);
	assert_int_equal(means(200, "text", false), ANSWER_OK);
	assert_int_equal(means(200, "Code: 252. DB::Exception: late", true), ANSWER_BUSY);
	assert_int_equal(means(500, "Code: 60, e.displayText() = x", true), ANSWER_NO_TABLE);
	assert_int_equal(means(500, "Code: 99999999999999999999", true), ANSWER_BUSY);
	assert_int_equal(means(500, "Code: x", true), ANSWER_BUSY);
	assert_int_equal(means(401, "", true), ANSWER_DENIED);
	assert_int_equal(means(413, "", true), ANSWER_BUSY);
	assert_int_equal(means(400, "Code: 115. DB::Exception: x", true), ANSWER_DENIED);
	assert_int_equal(means(429, "", true), ANSWER_BUSY);
	assert_int_equal(means(503, "", true), ANSWER_BUSY);
	assert_int_equal(means(204, "", true), ANSWER_STRANGE);
	assert_int_equal(means(0, "", true), ANSWER_STRANGE);
	assert_int_equal(means(999, "", true), ANSWER_STRANGE);
}

static void numbers_and_versions_are_read_strictly(void **state)
{
	static const char *const bad[] = { "",       "\n", "x",   "1 2",
					   "1\n2\n", "-1", "1.5", "99999999999999999999999" };
	struct answer answer = { 0 };
	unsigned int version = 7;
	uint64_t number = 8;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		answer.body_bytes = 0;
		answer__body(&answer, bad[i], strlen(bad[i]));
		assert_int_equal(answer__number(&answer, &number), -EBADMSG);
	}
	assert_int_equal(number, 8);
	answer.body_bytes = 0;
	answer__body(&answer, "18.16.1\n", 8);
	assert_int_equal(answer__version(&answer, &version), 0);
	assert_int_equal(version, 1816);
	answer.body_bytes = 0;
	answer__body(&answer, "26.x", 4);
	assert_int_equal(answer__version(&answer, &version), -EBADMSG);
	assert_int_equal(version, 1816);
}

/* --- all together --- */

static uint64_t room; /* of the spool; 0: the default */

static struct sink *open_sink(void)
{
	const struct sink_options options = {
		.spool = { .folder = folder, .most_bytes = room },
		.http = { .url = url(), .timeout_s = 2 },
		.sender = { .host_id = 1, .no_spread = true },
		.boot = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0",
	};
	struct sink *sink = NULL;

	assert_int_equal(sink__new(&options, &sink), 0);
	return sink;
}

static void push(struct sink *sink, uint64_t minute_s)
{
	const struct fact_host host = { .host_id = 1, .tenant = "" };
	const struct fact_context context = { &host, minute_s, NULL, NULL };
	const struct fact_quality quality = { "lost", 3 };

	assert_int_equal(sink__push(sink, FACT_QUALITY, &context, &quality, 1), 0);
}

static struct sink_status wait_until_empty(struct sink *sink)
{
	struct sink_status status;

	for (int i = 0; i < 500; i++) {
		sink__status(sink, &status);
		if (status.sender.results[ANSWER_OK] && !status.spool.batches)
			return status;
		usleep(10000);
	}
	print_message("# %s\n", status.sender.problem);
	return status;
}

static void rows_arrive_in_the_store_and_leave_the_spool(void **state)
{
	struct sink *sink = open_sink();
	struct sink_status status;

	server.conduct = CONDUCT_CLICKHOUSE;
	push(sink, STORE_MINUTE);
	status = wait_until_empty(sink);
	assert_int_equal(server.inserts, 1);
	assert_int_equal(status.sender.results[ANSWER_OK], 1);
	assert_int_equal(status.spool.batches, 0);
	assert_int_equal(status.sender.server_version, 2607);
	assert_non_null(strstr(server.request, "insert_deduplication_token=0000000000000001%3A"
					       "0b1c2d3e4f5061728394a5b6c7d8e9f0%3Aquality%3A"));
	sink__free(sink);
}

static void what_a_silent_server_did_not_take_is_sent_after_a_restart(void **state)
{
	struct sink *sink = open_sink();
	struct sink_status status;
	uint64_t start_ns = clock__now_ns();

	server.conduct = CONDUCT_NOTHING;
	push(sink, STORE_MINUTE);
	/* Neither pushing nor ending waits for the server. */
	sink__free(sink);
	assert_true(clock__now_ns() - start_ns < UINT64_C(1000000000));
	stop_server();
	start_server();
	server.conduct = CONDUCT_CLICKHOUSE;
	sink = open_sink();
	status = wait_until_empty(sink);
	assert_int_equal(status.spool.dropped, 0);
	assert_int_equal(status.spool.batches, 0);
	assert_int_equal(server.inserts, 1);
	sink__free(sink);
}

/* Whether the only batch in the spool has a word. */
static bool spool_has(const char *word)
{
	const struct spool_options options = { .folder = folder };
	cleanup(free_p) void *packed = NULL, *block = NULL;
	struct spool *spool = NULL;
	struct spool_entry *entry;
	struct batch_view view;
	size_t bytes;

	assert_int_equal(spool__open(&options, &spool), 0);
	entry = spool__pick(spool, 0, UINT64_MAX);
	assert_non_null(entry);
	assert_int_equal(spool__load(spool, entry, &packed, &bytes), 0);
	assert_int_equal(batch__view(packed, bytes, &view), 0);
	assert_int_equal(batch__unpack(&view, &block), 0);
	spool__free(spool);
	return memmem(block, view.head.raw_bytes, word, strlen(word));
}

static void lost_batches_are_told_to_the_store(void **state)
{
	struct sink *sink;
	struct sink_status status;

	server.conduct = CONDUCT_NOTHING;
	sink = open_sink();
	push(sink, STORE_MINUTE);
	sink__free(sink);
	assert_false(spool_has("batches_lost"));
	/* Room for one batch. */
	room = 250;
	sink = open_sink();
	push(sink, STORE_MINUTE + 60);
	for (int i = 0; i < 500; i++) {
		sink__status(sink, &status);
		if (status.spool.dropped)
			break;
		usleep(10000);
	}
	assert_int_equal(status.spool.dropped, 1);
	push(sink, STORE_MINUTE + 120);
	sink__free(sink);
	room = 0;
	assert_true(spool_has("batches_lost"));
	assert_true(counters__is_loss("batches_lost"));
}

static void a_sink_needs_a_boot_id_and_a_free_spool(void **state)
{
	struct sink_options options = { .spool = { .folder = folder },
					.http = { .url = url() },
					.boot = "xyz" };
	struct sink *sink = open_sink(), *second = NULL;

	assert_int_equal(sink__new(&options, &second), -EINVAL);
	options.boot = "ab";
	assert_int_equal(sink__new(&options, &second), -EBUSY);
	sink__free(sink);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(requests_carry_body_user_and_secrets_from_files),
		TEST(a_changed_password_is_used_at_once),
		TEST(a_redirect_is_not_followed),
		TEST(garbage_is_no_answer),
		TEST(hostile_answers_end),
		TEST(silence_is_given_up_and_may_be_stored),
		TEST(nobody_there_is_certainly_not_stored),
		TEST(a_certificate_that_is_not_ours_is_refused),
		TEST(odd_addresses_are_refused),
		TEST(a_question_is_asked_again_and_can_change),
		TEST(an_asker_survives_a_hostile_server_and_nobody_waits),
		TEST(secrets_are_not_sent_to_other_machines_without_encryption),
		cmocka_unit_test(answers_have_their_meaning),
		cmocka_unit_test(numbers_and_versions_are_read_strictly),
		TEST(rows_arrive_in_the_store_and_leave_the_spool),
		TEST(what_a_silent_server_did_not_take_is_sent_after_a_restart),
		TEST(lost_batches_are_told_to_the_store),
		TEST(a_sink_needs_a_boot_id_and_a_free_spool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
