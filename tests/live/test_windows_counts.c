/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows: as many requests as the tools count that send them, to servers that many run. wrk stops
 * with requests under way: at most those that its connections have open are counted besides.
 */
#include "../harness.h"

#include <arpa/inet.h>
#include <glob.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "windows_checks.h"

static char folder[64];
static struct trial trial;

/* --- servers --------------------------------------------------------------------------------- */

static const struct server {
	const char *name;
	int port;
	const char *needs; /* programs */
	const char *start; /* $0 is the folder; becomes the server */
} servers[] = {
	{ "nginx", 18751, "nginx wrk", "exec nginx -c $0/nginx.conf -e $0/nginx.log" },
	{ "redis", 18753, "redis-server redis-benchmark",
	  "exec redis-server --port 18753 --save '' --unixsocket $0/redis.sock >$0/redis.log" },
	{ "postgresql", 18754, "pgbench runuser initdb",
	  "mkdir $0/pg && chown postgres $0/pg && runuser -u postgres -- initdb -D $0/pg >/dev/null && "
	  "exec setpriv --reuid postgres --regid postgres --clear-groups postgres -D $0/pg -p 18754 -k $0/pg -c fsync=off "
	  "-c autovacuum=off 2>$0/pg.log" },
};

#define SERVERS (sizeof(servers) / sizeof(*servers))

static pid_t pids[SERVERS];

static const char nginx_conf[] =
	"worker_processes 2; daemon off; user root; pid %1$s/nginx.pid; error_log %1$s/nginx.log;\n"
	"events { worker_connections 256; }\n"
	"http { access_log off; sendfile on; keepalive_requests 100000000;\n"
	"server { listen 127.0.0.1:18751; location /hello { return 200 \"hello\\n\"; }\n"
	" location / { root %1$s; } }\n"
	"%2$s server { listen 127.0.0.1:18752 ssl; ssl_certificate %1$s/cert;\n"
	"%2$s ssl_certificate_key %1$s/key; location / { return 200 \"hello\\n\"; } }\n}\n";

static const char wrk_pipe[] =
	"init = function(args) local r = {}\n"
	"for i = 1, 4 do r[i] = wrk.format(nil, '/hello') end req = table.concat(r) end\n"
	"request = function() return req end\n";

/* Runs a command of the shell in which $0 is the folder; its status and its output. */
static int run(char *ret, size_t size, const char *command)
{
	char line[2048];
	size_t length;
	FILE *pipe;

	snprintf(line, sizeof(line), "timeout 120 sh -c \"%s\" %s 2>&1", command, folder);
	pipe = popen(line, "r"); /* NOLINT(cert-env33-c): a command of this test */
	assert_non_null(pipe);
	length = fread(ret, 1, size - 1, pipe);
	ret[length] = '\0';
	return pclose(pipe);
}

static bool has_programs(const char *names)
{
	char command[256], said[512];

	snprintf(command, sizeof(command),
		 "for p in %s; do command -v \\$p >/dev/null || exit 1; done", names);
	return !run(said, sizeof(said), command);
}

__attribute__((format(printf, 2, 3))) static void write_file(const char *name, const char *format,
							     ...)
{
	char path[128];
	va_list args;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	va_start(args, format);
	vfprintf(file, format, args);
	va_end(args);
	fclose(file);
}

static bool answers(int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool does = !connect(fd, (struct sockaddr *)&address, sizeof(address));

	close(fd);
	return does;
}

static void start(size_t i)
{
	pids[i] = fork();
	if (!pids[i]) {
		setpgid(0, 0);
		execl("/bin/sh", "sh", "-c", servers[i].start, folder, NULL);
		_exit(126);
	}
	for (int tries = 0; !answers(servers[i].port); tries++) {
		if (tries > 600 || waitpid(pids[i], NULL, WNOHANG))
			fail_msg("'%s' does not answer: see '%s'", servers[i].name, folder);
		usleep(50000);
	}
}

static int start_all(void **state)
{
	char said[512], path[1024];
	bool has_tls = has_programs("openssl");
	glob_t found;

	strcpy(folder, "/tmp/gapless-windows-XXXXXX");
	if (is_emulated() || !mkdtemp(folder))
		return is_emulated() ? 0 : -1;
	chmod(folder, 0755);
	if (!glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) && found.gl_pathc) {
		snprintf(path, sizeof(path), "%s:%s", getenv("PATH"), found.gl_pathv[0]);
		setenv("PATH", path, 1);
	}
	write_file("nginx.conf", nginx_conf, folder, has_tls ? "" : "#");
	write_file("pipe.lua", "%s", wrk_pipe);
	write_file("file", "%020000d\n", 0);
	run(said, sizeof(said),
	    "openssl req -x509 -newkey rsa:2048 -nodes -keyout \\$0/key -out \\$0/cert -days 2 "
	    "-subj /CN=localhost");
	for (size_t i = 0; i < SERVERS; i++)
		if (servers[i].start && has_programs(servers[i].needs))
			start(i);
	if (pids[SERVERS - 1] > 0)
		assert_int_equal(run(said, sizeof(said),
				     "pgbench -i -q -h 127.0.0.1 -p 18754 -U "
				     "postgres postgres"),
				 0);
	return 0;
}

static int stop_all(void **state)
{
	char said[512];

	for (size_t i = 0; i < SERVERS; i++)
		if (pids[i] > 0) {
			kill(-pids[i], SIGINT);
			waitpid(pids[i], NULL, 0);
		}
	if (*folder && !is_emulated())
		run(said, sizeof(said), "rm -rf \\$0");
	return 0;
}

/* --- trials ---------------------------------------------------------------------------------- */

/* The number before, or behind, these words. */
static int64_t number_in(const char *said, const char *words)
{
	const char *at = strstr(said, words);

	if (!at)
		fail_msg("no '%s' in: %s", words, said);
	while (at > said && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
		at--;
	return strtoll(at, NULL, 10);
}

/* Records a server while the command runs. What the command says is in `said`. */
static void record(const char *name, char *said, size_t size, const char *command)
{
	char pid[16] = "";

	for (size_t i = 0; i < SERVERS; i++)
		if (!strcmp(servers[i].name, name) && pids[i] > 0)
			snprintf(pid, sizeof(pid), "%d", pids[i]);
	if (!*pid) {
		print_message("# skip: no %s and what asks it\n", name);
		skip();
	}
	trial = trial__start(ARGS("-p", pid));
	if (run(said, size, command))
		fail_msg("'%s': %s", command, said);
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
}

static void assert_requests(const char *where, int64_t least, int64_t more)
{
	print_message("# %s: %" PRId64 " of %" PRId64 "\n", where,
		      windows__count(trial.path, "n", where), least);
	assert_windows(trial.path, "n", where, least, least + more);
}

static void done(void)
{
	assert_windows_add_up(trial.path);
	trial__remove(trial.path);
}

#define OF(protocol) "c.kind = 'server' AND c.protocol = '" protocol "'"

static void wrk(const char *arguments, const char *where, int64_t in_flight)
{
	char said[4096], command[256];

	snprintf(command, sizeof(command), "wrk -t 1 -d 1 %s", arguments);
	record("nginx", said, sizeof(said), command);
	assert_requests(where, number_in(said, " requests in"), in_flight);
	done();
}

static void nginx_answers_as_many_as_wrk_asks(void **state)
{
	wrk("-c 16 http://127.0.0.1:18751/hello", OF("http"), 16);
}

static void a_file_that_is_sent_in_two_calls_is_one_request(void **state)
{
	wrk("-c 16 http://127.0.0.1:18751/file", OF("http") " AND c.name = 'GET /file'", 16);
}

static void requests_that_come_four_at_once_are_counted_each(void **state)
{
	wrk("-c 8 -s \\$0/pipe.lua http://127.0.0.1:18751/hello", OF("http"), 8 * 4);
}

static void requests_in_tls_are_turns_of_records(void **state)
{
	if (!has_programs("openssl"))
		skip();
	wrk("-c 8 https://127.0.0.1:18752/", OF("tls"), 8);
}

/* As many as pgbench sends, and what it asks at its begin besides. The recording stays. */
static void pgbench(const char *arguments, int64_t transactions, int64_t statements, int64_t more)
{
	char said[4096], command[256];

	snprintf(command, sizeof(command), "pgbench -n -U postgres -p 18754 %s postgres",
		 arguments);
	record("postgresql", said, sizeof(said), command);
	assert_int_equal(number_in(said, "/"), transactions);
	assert_requests(OF("postgresql"), transactions * statements, more);
	assert_windows_add_up(trial.path);
}

static void postgresql_answers_as_many_statements_as_pgbench_sends(void **state)
{
	pgbench("-h 127.0.0.1 -S -t 500 -c 2", 1000, 1, 4);
	trial__remove(trial.path);
	pgbench("-h \\$0/pg -S -M extended -t 500 -c 2", 1000, 1, 4);
	trial__remove(trial.path);
	/* Each client prepares its statement. */
	pgbench("-h \\$0/pg -S -M prepared -t 500 -c 2", 1000, 1, 4 + 2);
	trial__remove(trial.path);
}

/*
 * The transactions update one row, so they wait for locks; PostgreSQL does that in epoll_wait(),
 * and still works for its only client.
 */
static void waits_for_locks_of_rows_belong_to_the_statement(void **state)
{
	int64_t poll_ns;

	pgbench("-h 127.0.0.1 -t 200 -c 8 -j 2", 1600, 7, 4);
	assert_windows(trial.path, "n", OF("postgresql") " AND c.name = 'BEGIN'", 1600, 1600);
	assert_windows(trial.path, "n", OF("postgresql") " AND c.name = 'UPDATE'", 4800, 4800);
	assert_windows(trial.path, "n", OF("postgresql") " AND c.name = 'END'", 1600, 1600);
	poll_ns = windows__state_ns(trial.path, "c.name = 'UPDATE'", "s.cause = 'poll'");
	print_message("# of UPDATE, %" PRId64 " us in epoll_wait()\n", poll_ns / 1000);
	assert_true(poll_ns > 10 * MS);
	assert_true(poll_ns > 10 * windows__part_ns(trial.path, "c.name = 'UPDATE'", "elsewhere"));
	trial__remove(trial.path);
}

static void redis_benchmark(const char *arguments, int64_t commands)
{
	char said[4096], command[256];

	snprintf(command, sizeof(command), "redis-benchmark -t set -q %s", arguments);
	record("redis", said, sizeof(said), command);
	/* It asks for the configuration first. */
	assert_requests(OF("redis") " AND c.name <> 'CONFIG'", commands, 0);
	done();
}

static void redis_answers_as_many_commands_as_redis_benchmark_sends(void **state)
{
	redis_benchmark("-p 18753 -n 20000", 20000);
	redis_benchmark("-p 18753 -n 100000 -P 16", 100000);
}

static void commands_that_are_cut_by_reads_are_counted_once(void **state)
{
	redis_benchmark("-s \\$0/redis.sock -n 20000 -P 16 -d 3000", 20000);
	redis_benchmark("-p 18753 -n 20000 -P 16 -d 3000", 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE(nginx_answers_as_many_as_wrk_asks),
		HERE(a_file_that_is_sent_in_two_calls_is_one_request),
		HERE(requests_that_come_four_at_once_are_counted_each),
		HERE(requests_in_tls_are_turns_of_records),
		HERE(postgresql_answers_as_many_statements_as_pgbench_sends),
		HERE(waits_for_locks_of_rows_belong_to_the_statement),
		HERE(redis_answers_as_many_commands_as_redis_benchmark_sends),
		HERE(commands_that_are_cut_by_reads_are_counted_once),
	};

	return cmocka_run_group_tests(tests, start_all, stop_all);
}
