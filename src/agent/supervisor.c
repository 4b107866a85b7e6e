/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "agent/supervisor.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/backoff.h"
#include "agent/code_server.h"
#include "agent/lock.h"
#include "agent/notify.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "core/features.h"
#include "guard/guard.h"

/* A first worker that lives for less will fail again. */
#define SHORT_LIFE_NS UINT64_C(10000000000)

DEFINE_CLEANUP(struct features *, features__free)
DEFINE_CLEANUP(struct agent *, agent__free)
DEFINE_CLEANUP(struct code_server *, code_server__free)

static struct agent_signals signals;
static volatile pid_t worker; /* 0: none */

int supervisor__read_config(const char *path, struct config *ret)
{
	struct config_error error = {};
	int err = path ? config__read(path, ret, &error) : config__defaults(ret);

	if (err == -EINVAL && error.line)
		log_error("%s:%u: %s", path, error.line, error.message);
	else if (err == -EINVAL)
		log_error("%s: %s", path, error.message);
	else if (err)
		log_error("the configuration '%s' cannot be read: %s", path ? path : "",
			  strerror(-err));
	return err;
}

static void on_signal(int number)
{
	if (number == SIGHUP)
		signals.reload = 1;
	else
		signals.stop = 1;
	if (worker)
		kill(worker, number);
}

static void take_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

/* --- the worker ------------------------------------------------------------------------------- */

/* A configuration that is not valid, or that cannot be used, changes nothing. */
static int reload(struct agent *agent, const char *path, struct config *config)
{
	struct config old = *config, new;
	int err = 0;

	signals.reload = 0;
	notify__reloading();
	if (!supervisor__read_config(path, &new)) {
		*config = new;
		if (!agent__use(agent, config)) {
			config__release(&old);
			notify__ready();
			return 0;
		}
		*config = old;
		config__release(&new);
		err = agent__use(agent, config);
	}
	log_warning("continuing with the configuration as it was");
	notify__ready();
	return err;
}

/* `code_fd`: where to ask for code; -1: nowhere. */
static int work(struct agent *agent, const char *path, struct config *config, int code_fd,
		bool is_again)
{
	const struct guard_options options = { .network = true,
					       .writable = config->state_directory };
	int err = guard__drop(GUARD_WORKER, &options);

	if (err) {
		log_error("privileges cannot be given up: %s", strerror(-err));
		return err;
	}
	if (code_fd >= 0)
		err = agent__connect(agent, code_fd);
	if (!err)
		err = agent__begin(agent, is_again);
	if (err)
		return err;
	log_info("the agent runs; metrics: %s; store: %s; OTLP: %s", config->metrics.listen,
		 *config->store.url ? config->store.url : "none",
		 *config->otlp.url ? config->otlp.url : "none");
	notify__ready();
	while (!err && !signals.stop) {
		err = agent__run(agent, &signals);
		if (!err && signals.reload)
			err = reload(agent, path, config);
	}
	if (err)
		log_error("the agent cannot go on: %s", strerror(-err));
	return err;
}

/* Does not return in the worker. `server` is NULL without stacks. */
static int start_worker(struct agent *agent, struct code_server *server, const char *path,
			struct config *config, bool is_again)
{
	pid_t parent = getpid(), pid;
	int err = 0, code_fd = -1;

	if (server)
		err = code_server__connect(server, &code_fd);
	if (err)
		log_warning("stacks need a socket: %s; continuing without them", strerror(-err));
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != parent)
			_exit(1);
		worker = 0;
		pthread_setname_np(pthread_self(), "gapless-worker");
		code_server__free(server);
		err = work(agent, path, config, code_fd, is_again);
		agent__free(agent);
		config__release(config);
		exit(err ? 1 : 0);
	}
	err = pid < 0 ? -errno : 0;
	if (code_fd >= 0)
		close(code_fd);
	if (err)
		log_error("no process for the worker: %s", strerror(-err));
	else
		worker = pid;
	/* A signal that came before `worker` was set. */
	if (worker && signals.stop)
		kill(worker, SIGTERM);
	else if (worker && signals.reload)
		kill(worker, SIGHUP);
	signals.reload = 0;
	return err;
}

/* --- the supervisor --------------------------------------------------------------------------- */

/* Answers the worker, and times the hooks, until the worker ends. */
static void serve(struct agent *agent, struct code_server *server, pid_t pid)
{
	cleanup(close_p) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wishes[] = { { .fd = pidfd, .events = POLLIN },
				   { .fd = server ? code_server__fd(server) : -1,
				     .events = POLLIN } };

	while (pidfd >= 0 && !wishes[0].revents) {
		if (poll(wishes, 2, agent__tend(agent)) <= 0)
			wishes[0].revents = 0;
		/* After it has closed its end, the worker has no more questions. */
		else if (wishes[1].revents && code_server__serve(server))
			wishes[1].fd = -1;
	}
	agent__pause(agent);
}

/* The status of the worker, or -errno. */
static int wait_for_worker(struct agent *agent, struct code_server *server)
{
	pid_t pid = worker;
	siginfo_t info;
	int status, err = 0;

	serve(agent, server, pid);
	/* Its number is not given to another process before waitpid(). */
	while (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
		if (errno != EINTR)
			return -errno;
	worker = 0;
	if (server)
		err = code_server__end(server);
	if (waitpid(pid, &status, 0) < 0)
		return -errno;
	/* Another worker would get descriptors of other programs' files. */
	if (err && !signals.stop)
		log_error(
			"a process does not let its mappings be read; ending, because no worker can "
			"be started [start the agent again]");
	return err && !signals.stop ? err : status;
}

/* The worker ended by itself, or was ended. */
static void say_end(int status)
{
	if (WIFSIGNALED(status))
		log_warning("the worker was ended by signal %d (%s); starting another one",
			    WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		log_warning("the worker ended with status %d; starting another one",
			    WEXITSTATUS(status));
}

/* The last worker may have read the configuration again; the next one must not fall back. */
static void use_newest(const char *path, struct config *config)
{
	struct config new;

	signals.reload = 0;
	if (!path || supervisor__read_config(path, &new))
		return;
	config__release(config);
	*config = new;
}

int supervisor__run(struct config *config, const char *path, const struct signal *const *known)
{
	cleanup(features__free_p) struct features *features = features__new();
	cleanup(agent__free_p) struct agent *agent = NULL;
	cleanup(code_server__free_p) struct code_server *server = NULL;
	cleanup(close_p) int lock = lock__take(config->state_directory);
	struct backoff backoff = {};
	bool is_again = false;
	uint64_t began_ns;
	int err, status;

	if (lock < 0 || !features)
		return lock < 0 ? lock : -ENOMEM;
	take_signals();
	notify__open();
	err = agent__attach(config, known, features, &agent);
	if (!err && agent__stacks(agent))
		err = code_server__new(agent__stacks(agent), &server);
	while (!err && !signals.stop) {
		began_ns = clock__now_ns();
		err = start_worker(agent, server, path, config, is_again);
		if (err)
			break;
		status = wait_for_worker(agent, server);
		if (status < 0) {
			err = status;
			break;
		}
		/* A first worker that fails at once will fail again. */
		if (signals.stop || (!is_again && WIFEXITED(status) &&
				     clock__now_ns() - began_ns < SHORT_LIFE_NS)) {
			err = WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -ECHILD;
			break;
		}
		say_end(status);
		is_again = true;
		use_newest(path, config);
		sleep(backoff__next_s(&backoff, clock__now_ns() - began_ns));
	}
	notify__stopping();
	return err;
}
