/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Needs the commands curl and openssl. */
#include "../harness.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "metrics.h"
#include "metrics/listener.h"
#include "metrics/server.h"

#define MS_NS UINT64_C(1000000)
#define TOKEN "0123456789abcdef-the-first"
#define OTHER "0123456789abcdef-the-other"

static char folder[] = "/tmp/metrics-XXXXXX";

/* The path of a file in the folder; the last 64 results stay valid. */
static const char *in_folder(const char *name)
{
	static char paths[64][64];
	static unsigned int next;
	char *path = paths[next++ % 64];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const char *text, mode_t mode)
{
	FILE *file = fopen(in_folder("new"), "w");

	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fchmod(fileno(file), mode), 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(in_folder("new"), in_folder(name)), 0);
}

/* The output of a shell command; valid until the next call. */
__attribute__((format(printf, 1, 2))) static const char *run(const char *format, ...)
{
	static char output[1 << 16];
	char command[2048];
	va_list args;
	FILE *pipe;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	output[fread(output, 1, sizeof(output) - 1, pipe)] = 0;
	pclose(pipe);
	return output;
}

/* ca.pem and other-ca.pem; server.* and client.* are signed by the first, stranger.* by the other.
 */
static void make_certificates(void)
{
	run("cd %s && for ca in ca other-ca; do openssl req -x509 -newkey ec -pkeyopt "
	    "ec_paramgen_curve:P-256 -nodes -keyout $ca.key -out $ca.pem -days 2 -subj /CN=$ca; "
	    "done 2>/dev/null; "
	    "sign() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "
	    "$1.key -out $1.csr -subj /CN=$1 && printf "
	    "'subjectAltName=IP:127.0.0.1\\nextendedKeyUsage='$3 >ext && openssl x509 -req -in "
	    "$1.csr -CA $2.pem -CAkey $2.key -CAcreateserial -days 2 -extfile ext -out $1.pem; } "
	    "2>/dev/null; sign server ca serverAuth; sign second ca serverAuth; sign client ca "
	    "clientAuth; sign stranger other-ca clientAuth; cp server.pem used.pem; cp server.key "
	    "used.key; chmod 600 *.key",
	    folder);
	assert_int_equal(access(in_folder("stranger.pem"), R_OK), 0);
}

static int make_folder(void **state)
{
	assert_non_null(mkdtemp(folder));
	make_certificates();
	return 0;
}

static int remove_folder(void **state)
{
	run("rm -rf %s", folder);
	return 0;
}

static struct server *start(struct server_options options)
{
	char message[SERVER_MESSAGE_BYTES] = "";
	struct server *server = NULL;

	options.address = options.address ? options.address : "127.0.0.1:0";
	if (server__new(&options, message, &server))
		fail_msg("%s", message);
	return server;
}

static void publish(struct server *server, uint64_t ns)
{
	struct bucket_row row = row_of(1, SLOT_RUN_USER, KIND_RUN, ns);
	struct exposition *exposition = NULL;
	struct totals *totals = NULL;
	struct pages *pages = NULL;

	assert_int_equal(totals__new(&(struct totals_options) {}, &totals), 0);
	assert_int_equal(totals__add_step(totals, &row, 1, 1, numbered_workload, NULL), 0);
	assert_int_equal(totals__expose(totals, &quiet_agent, &exposition), 0);
	assert_int_equal(pages__new(exposition, &pages), 0);
	server__publish(server, pages);
	pages__unref(pages);
	totals__free(totals);
}

static int connect_to(const struct server *server)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(server__port(server)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

/* Reads to the end, and closes the connection. Valid until the next call. */
static const char *read_all(int fd)
{
	static char answer[1 << 16];
	size_t size = 0;
	ssize_t got;

	while ((got = read(fd, answer + size, sizeof(answer) - 1 - size)) > 0)
		size += (size_t)got;
	answer[size] = 0;
	close(fd);
	return answer;
}

static const char *ask(const struct server *server, const char *request)
{
	int fd = connect_to(server);

	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return read_all(fd);
}

static const char *get(const struct server *server, const char *path)
{
	char request[256];

	snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	return ask(server, request);
}

static void assert_begins(const char *text, const char *start)
{
	if (strncmp(text, start, strlen(start)))
		fail_msg("'%s' does not begin with '%s'", text, start);
}

static void assert_within(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("'%s' is not in '%s'", part, text);
}

static void the_page_is_served_in_the_format_that_is_asked_for(void **state)
{
	struct server *server = start((struct server_options) {});
	const char *answer;

	publish(server, 1);
	answer = get(server, "/metrics");
	assert_begins(answer, "HTTP/1.1 200 ");
	assert_within(answer, "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n");
	assert_within(answer, "Connection: close\r\n");
	assert_within(answer, "cause=\"user\",kind=\"run\"} 0.000000001\n");
	answer = ask(server, "GET /metrics HTTP/1.1\r\nHost: x\r\n"
			     "Accept: application/openmetrics-text;version=1.0.0\r\n\r\n");
	assert_within(answer, "Content-Type: application/openmetrics-text; version=1.0.0; "
			      "charset=utf-8\r\n");
	assert_within(answer, "\n# EOF\n");
	answer = ask(server, "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
	assert_within(answer, "Content-Encoding: gzip\r\n");
	assert_within(answer, "\r\n\r\n\x1f\x8b");
	publish(server, 2);
	assert_within(get(server, "/metrics"), "kind=\"run\"} 0.000000002\n");
	answer = ask(server, "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
	assert_begins(answer, "HTTP/1.1 200 ");
	assert_null(strstr(answer, "gapless_"));
	assert_int_equal(server__counts(server).served, 5);
	server__free(server);
}

static void everything_else_is_refused(void **state)
{
	struct server *server = start((struct server_options) {});

	assert_begins(get(server, "/"), "HTTP/1.1 404 ");
	assert_begins(get(server, "/metrics/"), "HTTP/1.1 404 ");
	assert_begins(get(server, "/../metrics"), "HTTP/1.1 404 ");
	assert_begins(ask(server, "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"
				  "hello"),
		      "HTTP/1.1 405 ");
	assert_within(ask(server, "DELETE /readyz HTTP/1.1\r\nHost: x\r\n\r\n"),
		      "Allow: GET, HEAD\r\n");
	server__free(server);
}

static void readiness_names_the_reasons(void **state)
{
	struct server *server = start((struct server_options) { .stale_ms = 300 });
	const char *answer;

	assert_begins(get(server, "/healthz"), "HTTP/1.1 200 ");
	assert_begins(get(server, "/metrics"), "HTTP/1.1 503 ");
	answer = get(server, "/readyz");
	assert_begins(answer, "HTTP/1.1 503 ");
	assert_within(answer, "the first step has not ended yet\n");
	publish(server, 1);
	answer = get(server, "/readyz");
	assert_begins(answer, "HTTP/1.1 200 ");
	assert_within(answer, "\r\n\r\nready\n");
	assert_int_equal(server__set_reasons(server, "the store is away\nthe spool is full"), 0);
	answer = get(server, "/readyz");
	assert_begins(answer, "HTTP/1.1 503 ");
	assert_within(answer, "\r\n\r\nthe store is away\nthe spool is full\n");
	assert_int_equal(server__set_reasons(server, NULL), 0);
	assert_begins(get(server, "/readyz"), "HTTP/1.1 200 ");
	usleep(400000);
	assert_begins(get(server, "/healthz"), "HTTP/1.1 503 ");
	assert_within(get(server, "/readyz"), "the last step ended ");
	server__free(server);
}

static void assert_refused(struct server_options options, const char *why)
{
	char message[SERVER_MESSAGE_BYTES] = "";
	struct server *server = NULL;

	assert_true(server__new(&options, message, &server) < 0);
	assert_null(server);
	assert_within(message, why);
}

static void what_others_can_reach_needs_tls_and_a_secret(void **state)
{
	const char *address = "0.0.0.0:0";
	struct credentials_files files = { .certificate = in_folder("used.pem"),
					   .key = in_folder("used.key") };

	assert_refused((struct server_options) { address },
		       "other machines can reach '0.0.0.0:0', so it needs a certificate and a key");
	assert_refused((struct server_options) { "[::]:0" }, "so it needs a certificate");
	assert_refused((struct server_options) { address, files },
		       "so it needs a client CA or a token file");
	write_file("token", TOKEN "\n", 0600);
	files.token = in_folder("token");
	server__free(start((struct server_options) { address, files }));
	files.key = NULL;
	assert_refused((struct server_options) { address, files }, "a certificate needs a key");
}

static void addresses_and_files_that_cannot_be_used_are_named(void **state)
{
	struct credentials_files files = { .token = in_folder("token") };
	static const char *const wrong[] = { "",           "127.0.0.1",     "localhost:9474",
					     "1.2.3.4:-1", "1.2.3.4:65536", "[::1:80",
					     "unix:",      "unix:relative", "[::1]",
					     ":80",        "127.0.0.1:80 ", "[]:1" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_refused((struct server_options) { wrong[i] }, "is not an address");
	write_file("token", TOKEN, 0604);
	assert_refused((struct server_options) { "127.0.0.1:0", files }, "others can read");
	write_file("token", "short\n", 0600);
	assert_refused((struct server_options) { "127.0.0.1:0", files }, "is not one line of 16");
	write_file("token", TOKEN " " OTHER, 0600);
	assert_refused((struct server_options) { "127.0.0.1:0", files }, "has characters");
	write_file("token", TOKEN "\n" OTHER, 0600);
	assert_refused((struct server_options) { "127.0.0.1:0", files }, "is not one line");
	unlink(files.token);
	assert_refused((struct server_options) { "127.0.0.1:0", files }, "No such file");
	files = (struct credentials_files) { .certificate = in_folder("server.pem"),
					     .key = in_folder("client.key") };
	assert_refused((struct server_options) { "127.0.0.1:0", files }, "cannot use '");
	assert_refused((struct server_options) { .most_connections = 65 }, "at most 64");
}

/* The status and the text of an answer by TLS; "000" if there is none. */
static const char *curl(const struct server *server, const char *path, const char *options)
{
	return run("curl -s --max-time 10 --cacert %s/ca.pem -w '\\n%%{http_code}\\n' %s "
		   "https://127.0.0.1:%u%s",
		   folder, options, server__port(server), path);
}

static void tls_with_a_token(void **state)
{
	struct credentials_files files = { .certificate = in_folder("used.pem"),
					   .key = in_folder("used.key"),
					   .token = in_folder("token") };
	struct server *server;
	const char *answer;

	write_file("token", TOKEN "\n", 0640);
	server = start((struct server_options) { .files = files });
	publish(server, 3);
	assert_within(curl(server, "/metrics", ""), "\n401\n");
	assert_within(curl(server, "/metrics", "-H 'Authorization: Bearer " TOKEN "x'"), "\n401\n");
	assert_within(curl(server, "/metrics", "-H 'Authorization: Bearer 0123'"), "\n401\n");
	assert_within(curl(server, "/metrics", "-H 'Authorization: Basic " TOKEN "'"), "\n401\n");
	answer = curl(server, "/metrics", "-H 'Authorization: Bearer " TOKEN "'");
	assert_within(answer, "kind=\"run\"} 0.000000003\n");
	assert_within(answer, "\n200\n");
	assert_within(curl(server, "/healthz", ""), "\n200\n");
	/* Reasons are for those who may read the metrics. */
	assert_int_equal(server__set_reasons(server, "the store is away"), 0);
	assert_begins(curl(server, "/readyz", ""), "not ready\n\n503\n");
	assert_begins(curl(server, "/readyz", "-H 'Authorization: Bearer " TOKEN "'"),
		      "the store is away\n\n503\n");
	assert_int_equal(server__counts(server).refused, 4);
	assert_null(strstr(get(server, "/metrics"), "gapless"));
	assert_within(curl(server, "/healthz", "--tls-max 1.1"), "\n000\n");
	assert_within(curl(server, "/healthz", "--tlsv1.2 --tls-max 1.2"), "\n200\n");
	server__free(server);
}

static void tls_with_a_client_ca(void **state)
{
	struct credentials_files files = { .certificate = in_folder("used.pem"),
					   .key = in_folder("used.key"),
					   .client_ca = in_folder("ca.pem") };
	struct server *server = start((struct server_options) { .files = files });
	char options[256];

	publish(server, 4);
	assert_within(curl(server, "/metrics", ""), "\n403\n");
	assert_within(curl(server, "/healthz", ""), "\n200\n");
	snprintf(options, sizeof(options), "--cert %s/client.pem --key %s/client.key", folder,
		 folder);
	assert_within(curl(server, "/metrics", options), "\n200\n");
	snprintf(options, sizeof(options), "--cert %s/stranger.pem --key %s/stranger.key", folder,
		 folder);
	assert_null(strstr(curl(server, "/metrics", options), "\n200\n"));
	/* Signed by the right CA, but for servers. */
	snprintf(options, sizeof(options), "--cert %s/server.pem --key %s/server.key", folder,
		 folder);
	assert_null(strstr(curl(server, "/metrics", options), "\n200\n"));
	server__free(server);
}

static const char *subject_of(const struct server *server)
{
	return run("openssl s_client -connect 127.0.0.1:%u </dev/null 2>/dev/null | openssl x509 "
		   "-noout -subject",
		   server__port(server));
}

static void changed_files_are_read_again(void **state)
{
	struct credentials_files files = { .certificate = in_folder("used.pem"),
					   .key = in_folder("used.key"),
					   .token = in_folder("token") };
	struct server *server;
	char problem[SERVER_MESSAGE_BYTES];

	write_file("token", TOKEN, 0600);
	server = start((struct server_options) { .files = files, .reload_ms = 100 });
	publish(server, 5);
	assert_within(subject_of(server), "server");
	run("cd %s && cp second.key new && mv new used.key && cp second.pem new && mv new used.pem",
	    folder);
	write_file("token", OTHER, 0600);
	usleep(400000);
	assert_within(subject_of(server), "second");
	assert_within(curl(server, "/metrics", "-H 'Authorization: Bearer " TOKEN "'"), "\n401\n");
	assert_within(curl(server, "/metrics", "-H 'Authorization: Bearer " OTHER "'"), "\n200\n");
	server__problem(server, problem);
	assert_string_equal(problem, "");

	/* What cannot be used does not replace what is in use. */
	write_file("token", OTHER, 0666);
	server__reload(server);
	usleep(300000);
	server__problem(server, problem);
	assert_within(problem, "others can read");
	assert_within(curl(server, "/metrics", "-H 'Authorization: Bearer " OTHER "'"), "\n200\n");
	assert_within(curl(server, "/readyz", "-H 'Authorization: Bearer " OTHER "'"),
		      "others can read");
	write_file("token", TOKEN, 0600);
	usleep(300000);
	assert_within(curl(server, "/metrics", "-H 'Authorization: Bearer " TOKEN "'"), "\n200\n");
	server__problem(server, problem);
	assert_string_equal(problem, "");
	server__free(server);
	run("cd %s && cp server.pem used.pem && cp server.key used.key", folder);
}

static void an_expired_certificate_is_served_but_the_server_is_not_ready(void **state)
{
	struct credentials_files files = { .certificate = in_folder("expired.pem"),
					   .key = in_folder("used.key") };
	struct server *server;

	run("cd %s && openssl x509 -in used.pem -signkey used.key -days -1 -out expired.pem "
	    "2>/dev/null",
	    folder);
	server = start((struct server_options) { .files = files });
	publish(server, 1);
	assert_within(curl(server, "/metrics", ""), "\n000\n");
	assert_within(curl(server, "/metrics", "-k"), "\n200\n");
	assert_begins(curl(server, "/readyz", "-k"),
		      "the certificate of the server has expired\n\n503\n");
	server__free(server);
}

static void a_slow_client_is_cut_off(void **state)
{
	struct server *server = start((struct server_options) { .timeout_ms = 500 });
	uint64_t start_ns = clock__now_ns();
	int fd = connect_to(server);
	struct pollfd end = { fd, POLLIN, 0 };

	/* Every byte is progress for the library. */
	while (clock__now_ns() - start_ns < 3000 * MS_NS && !poll(&end, 1, 50))
		if (send(fd, "G", 1, MSG_NOSIGNAL) != 1)
			break;
	assert_in_range((clock__now_ns() - start_ns) / MS_NS, 450, 2000);
	close(fd);
	assert_int_equal(server__counts(server).cut, 1);
	server__free(server);
}

static void further_connections_wait_until_one_ends(void **state)
{
	struct server *server = start((struct server_options) { .timeout_ms = 700 });
	int idle[8];
	uint64_t start_ns;

	publish(server, 6);
	for (int i = 0; i < 8; i++)
		idle[i] = connect_to(server);
	usleep(100000);
	start_ns = clock__now_ns();
	assert_begins(get(server, "/metrics"), "HTTP/1.1 200 ");
	assert_in_range((clock__now_ns() - start_ns) / MS_NS, 300, 3000);
	for (int i = 0; i < 8; i++)
		close(idle[i]);
	start_ns = clock__now_ns();
	assert_begins(get(server, "/metrics"), "HTTP/1.1 200 ");
	assert_in_range((clock__now_ns() - start_ns) / MS_NS, 0, 250);
	server__free(server);
}

/* With the limits that the agent has: 8 connections of 10 seconds. */
static void slow_clients_do_not_keep_a_probe_away(void **state)
{
	struct server *server = start((struct server_options) {});
	uint64_t start_ns = clock__now_ns();
	int slow[16];

	publish(server, 6);
	for (int i = 0; i < 16; i++) {
		slow[i] = connect_to(server);
		assert_int_equal(send(slow[i], "G", 1, MSG_NOSIGNAL), 1);
	}
	/* Behind the others: kubelets wait for 5 seconds. */
	assert_begins(get(server, "/healthz"), "HTTP/1.1 200 ");
	assert_in_range((clock__now_ns() - start_ns) / MS_NS, 500, 4900);
	assert_true(server__counts(server).cut >= 8);
	for (int i = 0; i < 16; i++)
		close(slow[i]);
	server__free(server);
}

static void one_machine_has_half_of_the_connections(void **state)
{
	struct server *server;
	int open = 0, fds[8];

	server = start((struct server_options) { .address = "0.0.0.0:0",
						 .files = { .certificate = in_folder("server.pem"),
							    .key = in_folder("server.key"),
							    .token = in_folder("token") } });
	for (int i = 0; i < 8; i++)
		fds[i] = connect_to(server);
	usleep(300000);
	for (int i = 0; i < 8; i++) {
		struct pollfd end = { fds[i], POLLIN, 0 };

		open += !poll(&end, 1, 0);
		close(fds[i]);
	}
	assert_int_equal(open, 4);
	server__free(server);
}

static void too_many_scrapes_get_429(void **state)
{
	struct server *server = start((struct server_options) { .most_scrapes_per_minute = 3 });
	const char *answer;

	publish(server, 7);
	for (int i = 0; i < 3; i++)
		assert_begins(get(server, "/metrics"), "HTTP/1.1 200 ");
	answer = get(server, "/metrics");
	assert_begins(answer, "HTTP/1.1 429 ");
	assert_within(answer, "Retry-After: 60\r\n");
	assert_begins(get(server, "/healthz"), "HTTP/1.1 200 ");
	assert_int_equal(server__counts(server).refused, 1);
	server__free(server);
}

static void hostile_requests_get_an_error_or_nothing(void **state)
{
	struct server *server = start((struct server_options) { .timeout_ms = 1000 });
	static char large[200000];
	const char *answer;

	publish(server, 8);
	memset(large, 'a', sizeof(large) - 1);
	memcpy(large, "GET /metrics HTTP/1.1\r\nX: ", 26);
	int fd = connect_to(server);

	/* The server stops reading, so not all can be sent. */
	send(fd, large, sizeof(large) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	answer = read_all(fd);
	if (*answer)
		assert_begins(answer, "HTTP/1.1 4");
	answer = ask(server, "\x16\x03\x01\xff\xff\r\n\r\n");
	assert_null(strstr(answer, "gapless"));
	ask(server, "GET\r\n\r\n");
	fd = connect_to(server);
	close(fd);
	assert_begins(get(server, "/metrics"), "HTTP/1.1 200 ");
	server__free(server);
}

static void a_unix_socket_is_for_owner_and_group_and_replaces_a_left_over_one(void **state)
{
	char address[128];
	struct listener_address parsed;
	struct server *server;
	struct stat stat;
	int fd;

	snprintf(address, sizeof(address), "unix:%s/socket", folder);
	assert_int_equal(listener__parse(address, &parsed), 0);
	assert_true(parsed.is_local);
	assert_int_equal(listener__open(&parsed, &fd), 0);
	close(fd);
	server = start((struct server_options) { .address = address });
	publish(server, 9);
	assert_int_equal(lstat(in_folder("socket"), &stat), 0);
	assert_int_equal(stat.st_mode & 0007, 0);
	assert_within(run("curl -s --unix-socket %s/socket http://x/metrics", folder),
		      "kind=\"run\"} 0.000000009\n");
	assert_refused((struct server_options) { .address = address }, "Address already in use");
	server__free(server);
	assert_int_equal(lstat(in_folder("socket"), &stat), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_page_is_served_in_the_format_that_is_asked_for),
		cmocka_unit_test(everything_else_is_refused),
		cmocka_unit_test(readiness_names_the_reasons),
		cmocka_unit_test(what_others_can_reach_needs_tls_and_a_secret),
		cmocka_unit_test(addresses_and_files_that_cannot_be_used_are_named),
		cmocka_unit_test(tls_with_a_token),
		cmocka_unit_test(tls_with_a_client_ca),
		cmocka_unit_test(changed_files_are_read_again),
		cmocka_unit_test(an_expired_certificate_is_served_but_the_server_is_not_ready),
		cmocka_unit_test(a_slow_client_is_cut_off),
		cmocka_unit_test(further_connections_wait_until_one_ends),
		cmocka_unit_test(slow_clients_do_not_keep_a_probe_away),
		cmocka_unit_test(one_machine_has_half_of_the_connections),
		cmocka_unit_test(too_many_scrapes_get_429),
		cmocka_unit_test(hostile_requests_get_an_error_or_nothing),
		cmocka_unit_test(a_unix_socket_is_for_owner_and_group_and_replaces_a_left_over_one),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
