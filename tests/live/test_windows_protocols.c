/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows of HTTP/2, gRPC and MySQL: as many requests as the tools count that send them, with the
 * names and the statuses that they have.
 */
#include "../harness.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ledger.h"
#include "live.h"

#define START_SECONDS 20

/* A server, and what has to be there for it. $0 is the folder of the test. */
struct server {
	int port;
	const char *needs; /* a command that fails without it */
	const char *prepare, *start;
};

static const struct server nghttpd = {
	.port = 18821,
	.needs = "command -v nghttpd && command -v h2load",
	.start = "exec nghttpd --no-tls -d $0 18821",
};

static const struct server nginx = {
	.port = 18822,
	.needs = "command -v nginx && command -v h2load",
	.prepare = "echo 'daemon off; user root; pid '$0'/pid; error_log '$0'/log; events {}"
		   " http { access_log off; sendfile on; keepalive_requests 1000000;"
		   " server { listen 127.0.0.1:18822 http2; root '$0'; } }' >$0/conf;"
		   " head -c 300000 /dev/zero >$0/large",
	.start = "exec nginx -c $0/conf -e $0/log",
};

static const struct server mariadb = {
	.port = 18823,
	.needs = "command -v mariadbd && command -v mysqlslap && command -v mysql_install_db",
	.prepare = "mkdir $0/data && chown mysql $0/data && chmod 755 $0 &&"
		   " mysql_install_db --no-defaults --user=mysql --datadir=$0/data"
		   " --auth-root-authentication-method=normal >$0/log 2>&1",
	.start = "exec mariadbd --no-defaults --user=mysql --datadir=$0/data --port=18823"
		 " --bind-address=127.0.0.1 --socket=$0/data/socket --pid-file=$0/data/pid"
		 " 2>$0/log",
};

static const char grpc_server[] =
	"import grpc\n"
	"from concurrent import futures\n"
	"def fails(request, context): context.abort(grpc.StatusCode.INTERNAL, 'no')\n"
	"handlers = {'Get': grpc.unary_unary_rpc_method_handler(lambda request, context: request),\n"
	"            'Fail': grpc.unary_unary_rpc_method_handler(fails)}\n"
	"server = grpc.server(futures.ThreadPoolExecutor(4))\n"
	"server.add_generic_rpc_handlers(\n"
	"    (grpc.method_handlers_generic_handler('shop.Orders', handlers),))\n"
	"server.add_insecure_port('127.0.0.1:18824')\n"
	"server.start()\n"
	"server.wait_for_termination()\n";

static const char grpc_client[] =
	"import grpc\n"
	"channel = grpc.insecure_channel('127.0.0.1:18824')\n"
	"get = channel.unary_unary('/shop.Orders/Get')\n"
	"fail = channel.unary_unary('/shop.Orders/Fail')\n"
	"for i in range(300): get(b'x')\n"
	"for call in [get.future(b'x' * 100) for i in range(50)]: call.result()\n"
	"for i in range(7):\n"
	"    try: fail(b'')\n"
	"    except grpc.RpcError: pass\n"
	"channel.close()\n";

static const struct server grpc = {
	.port = 18824,
	.needs = "/usr/bin/python3 -c 'import grpc'",
	.start = "exec /usr/bin/python3 $0/server.py",
};

static char folder[32];
static struct trial trial;
static pid_t server_pid;

static int run(const char *command)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", command, folder, NULL);
		_exit(126);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void write_file(const char *name, const char *text)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
}

static int set_up(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/gapless-protocols-XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	write_file("index.html", "hello\n");
	write_file("server.py", grpc_server);
	write_file("client.py", grpc_client);
	return 0;
}

static int tear_down(void **state)
{
	if (server_pid) {
		kill(server_pid, SIGTERM);
		waitpid(server_pid, NULL, 0);
	}
	server_pid = 0;
	if (*trial.path)
		trial__remove(trial.path);
	*trial.path = '\0';
	return run("rm -rf $0");
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

static void start_server(const struct server *server)
{
	char command[256];

	snprintf(command, sizeof(command), "{ %s; } >/dev/null 2>&1", server->needs);
	if (run(command)) {
		print_message("# skip: '%s' fails\n", server->needs);
		skip();
	}
	if (server->prepare)
		assert_int_equal(run(server->prepare), 0);
	server_pid = fork();
	if (!server_pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execl("/bin/sh", "sh", "-c", server->start, folder, NULL);
		_exit(126);
	}
	for (int i = 0; i < START_SECONDS * 10 && !answers(server->port); i++)
		usleep(100000);
	assert_true(answers(server->port));
}

static void record_server(const struct server *server)
{
	char pid[16];

	start_server(server);
	snprintf(pid, sizeof(pid), "%d", server_pid);
	trial = trial__start(
		ARGS("--signals", "none", "--no-stacks", "--budget", "none", "-p", pid));
}

static void stop_recording(void)
{
	assert_int_equal(trial__stop(&trial, SIGINT), 0);
}

/* Requests of the classes `c` for which this holds. */
static int64_t requests(const char *where)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "select coalesce(sum(b.n), 0) from window_class c join window_band b"
		 " on b.class = c.id where %s",
		 where);
	return trial__ask(trial.path, sql);
}

/* Parts of windows that were kept must add up to their lengths. */
static void assert_adds_up(void)
{
	assert_true(trial__ask(trial.path, "select count(*) from window") > 0);
	assert_int_equal(
		trial__ask(trial.path,
			   "select count(*) from (select w.end_ns - w.ready_ns - (select sum(case"
			   " p.part when 'overlap' then -p.ns else p.ns end) from window_part p"
			   " where p.window = w.id) rest from window w where w.weight > 0) where"
			   " rest <> 0"),
		0);
}

static void nghttpd_serves_as_many_streams_as_h2load_counts(void **state)
{
	record_server(&nghttpd);
	assert_int_equal(run("h2load -c 4 -m 10 -n 20000 http://127.0.0.1:18821/index.html"
			     " | grep -q '20000 succeeded'"),
			 0);
	assert_int_equal(run("h2load -c 1 -m 100 -n 500 http://127.0.0.1:18821/none >/dev/null"),
			 0);
	stop_recording();
	assert_int_equal(requests("c.kind = 'server' and c.protocol = 'http2' and"
				  " c.status = 'ok' and c.name = 'GET /index.html'"),
			 20000);
	assert_int_equal(requests("c.status = 'refused' and c.protocol = 'http2'"), 500);
	assert_int_equal(requests("true"), 20500);
	assert_adds_up();
}

static void nginx_serves_as_many_streams_as_h2load_counts(void **state)
{
	record_server(&nginx);
	assert_int_equal(run("h2load -c 4 -m 10 -n 5000 http://127.0.0.1:18822/index.html"
			     " | grep -q '5000 succeeded'"),
			 0);
	/* Frames whose payload is sent by sendfile(), in several calls. */
	assert_int_equal(run("h2load -c 2 -m 3 -n 300 http://127.0.0.1:18822/large"
			     " | grep -q '300 succeeded'"),
			 0);
	stop_recording();
	assert_int_equal(requests("c.protocol = 'http2' and c.status = 'ok'"), 5300);
	assert_int_equal(requests("true"), 5300);
	assert_adds_up();
}

static void h2load_asks_as_often_as_it_counts(void **state)
{
	struct output output;

	start_server(&nghttpd);
	trial__path(trial.path, sizeof(trial.path));
	output = live__gapless("record", "--no-report", "-o", trial.path, "--signals", "none",
			       "--no-stacks", "--budget", "none", "--", "h2load", "-c", "2", "-m",
			       "5", "-n", "3000", "http://127.0.0.1:18821/index.html");
	assert_int_equal(output.status, 0);
	live__release(&output);
	assert_int_equal(requests("c.kind = 'client' and c.protocol = 'http2' and"
				  " c.name = 'GET /index.html' and c.status = 'ok'"),
			 3000);
}

static void calls_of_grpc_have_the_name_of_their_method_and_a_status(void **state)
{
	record_server(&grpc);
	assert_int_equal(run("/usr/bin/python3 $0/client.py"), 0);
	stop_recording();
	assert_int_equal(requests("c.protocol = 'grpc' and c.status = 'ok' and"
				  " c.name = 'POST /shop.Orders/Get'"),
			 350);
	assert_int_equal(requests("c.protocol = 'grpc' and c.status = 'failed' and"
				  " c.name = 'POST /shop.Orders/Fail'"),
			 7);
	assert_int_equal(requests("true"), 357);
	assert_adds_up();
}

static void mariadb_serves_as_many_queries_as_are_sent(void **state)
{
	record_server(&mariadb);
	assert_int_equal(run("mysqlslap --no-defaults -uroot -h127.0.0.1 -P18823 --protocol=tcp"
			     " --concurrency=4 --number-of-queries=2000 --query='select 1'"
			     " --create-schema=test >/dev/null"),
			 0);
	assert_int_equal(run("mysqlslap --no-defaults -uroot -S $0/data/socket --concurrency=4"
			     " --number-of-queries=3000 --query='select 2' --create-schema=test"
			     " >/dev/null"),
			 0);
	run("mysql --no-defaults -uroot -S $0/data/socket -e 'select nothing' 2>/dev/null");
	assert_int_equal(run("mysql --no-defaults -uroot -S $0/data/socket -e"
			     " 'create table test.t (a int); insert into test.t values (1)'"),
			 0);
	stop_recording();
	assert_int_equal(requests("c.protocol = 'mysql' and c.status = 'ok' and"
				  " c.name = 'SELECT' and c.service like '127.0.0.1:%'"),
			 2000);
	assert_int_equal(requests("c.protocol = 'mysql' and c.status = 'ok' and"
				  " c.name = 'SELECT' and c.service like 'unix:%'"),
			 3000);
	assert_int_equal(requests("c.status = 'failed' and c.name = 'SELECT'"), 1);
	assert_int_equal(requests("c.name = 'CREATE'"), 1);
	assert_int_equal(requests("c.name = 'INSERT'"), 1);
	assert_adds_up();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nghttpd_serves_as_many_streams_as_h2load_counts),
		TEST(nginx_serves_as_many_streams_as_h2load_counts),
		TEST(h2load_asks_as_often_as_it_counts),
		TEST(calls_of_grpc_have_the_name_of_their_method_and_a_status),
		TEST(mariadb_serves_as_many_queries_as_are_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
