/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the agent does when something around it fails. A minute lasts a few seconds in some of them.
 */
#include "../harness.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "served.h"
#include "store/batch.h"

/* Nobody listens there. */
#define STORE   "store.url: http://127.0.0.1:9\n"
#define DROPPED "\ngapless_agent_lost_total{what=\"batches\"} "
#define RUNNING "gapless_thread_seconds_total{state=\"run\""

static const char *in_state(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/state/%s", served__folder(), name);
	return path;
}

static int right_clock(void **state)
{
	served__step_clock(0, 0);
	return 0;
}

/* --- the spool -------------------------------------------------------------------------------- */

/* Batches of the ledger in the spool; `minute_s` is the minute of all of them, 0 if they differ. */
static unsigned int spooled(uint64_t *minute_s)
{
	DIR *dir = opendir(in_state("spool"));
	const struct dirent *entry;
	unsigned int count = 0;
	struct batch_id id;
	uint64_t tried_s;

	while (dir && (entry = readdir(dir))) {
		if (batch__parse_name(entry->d_name, &id, &tried_s) || id.table != FACT_LEDGER)
			continue;
		*minute_s = !count || *minute_s == id.minute_s ? id.minute_s : 0;
		count++;
	}
	if (dir)
		closedir(dir);
	return count;
}

/* A read-only file system of 4 MB, which nobody else sees. */
static void mount_spool(void)
{
	mkdir(in_state(""), 0700);
	mkdir(in_state("spool"), 0700);
	assert_int_equal(unshare(CLONE_NEWNS), 0);
	assert_int_equal(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
	assert_int_equal(mount("none", in_state("spool"), "tmpfs", MS_RDONLY, "size=4m,mode=0700"),
			 0);
}

static int unmount_spool(void **state)
{
	umount2(in_state("spool"), MNT_DETACH);
	return right_clock(state);
}

static void fill_spool(void)
{
	static char bytes[65536];
	int fd;

	assert_int_equal(mount(NULL, in_state("spool"), NULL, MS_REMOUNT, "size=4m"), 0);
	fd = open(in_state("spool/filler"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(errno, ENOSPC);
	close(fd);
}

static void a_spool_that_cannot_be_written_costs_old_minutes_only(void **state)
{
	uint64_t dropped = 0, minute_s;
	pid_t agent, worker;

	served__configure(STORE);
	served__step_clock(59, 1);
	mount_spool();
	agent = served__start();
	served__wait_for("/readyz", "the spool cannot be written: Read-only file system");
	worker = served__worker(agent);
	for (int i = 0; i < 600 && !dropped; i++) {
		served__sleep_ms(100);
		dropped = served__number(served__try_get("/metrics"), DROPPED);
	}
	assert_true(dropped > 0);
	assert_int_equal(spooled(&minute_s), 0);
	assert_int_equal(served__count(served__log(), "the spool cannot be written"), 1);
	assert_non_null(strstr(served__log(), "continuing with the last ten minutes in memory"));
	fill_spool();
	served__wait_for("/readyz", "the spool cannot be written: No space left on device");
	assert_int_equal(unlink(in_state("spool/filler")), 0);
	served__wait_for_log("the spool can be written again");
	/* The next step says so. */
	for (int i = 0; i < 100 && strstr(served__wait_for("/readyz", "HTTP"), "spool"); i++)
		served__sleep_ms(100);
	assert_null(strstr(served__wait_for("/readyz", "HTTP"), "spool"));
	/* What was in memory is in files now, each minute once. */
	assert_true(spooled(&minute_s) >= 8);
	assert_int_equal(minute_s, 0);
	assert_int_equal(served__worker(agent), worker);
	served__stop(agent);
}

static void what_a_killed_agent_had_is_spooled_and_the_next_one_goes_on(void **state)
{
	pid_t agent, worker;
	uint64_t minute_s;
	unsigned int first, second;

	served__configure(STORE);
	first = spooled(&minute_s);
	agent = served__start();
	served__wait_for("/metrics", RUNNING);
	worker = served__worker(agent);
	kill(agent, SIGKILL);
	assert_int_equal(waitpid(agent, NULL, 0), agent);
	/* The worker ends with it, in order. */
	for (int i = 0; i < 100 && !kill(worker, 0); i++)
		served__sleep_ms(100);
	assert_int_equal(kill(worker, 0), -1);
	second = spooled(&minute_s);
	assert_true(second > first);
	agent = served__start();
	served__wait_for("/metrics", RUNNING);
	served__stop(agent);
	assert_true(spooled(&minute_s) > second);
}

/* --- the clock -------------------------------------------------------------------------------- */

static void a_clock_that_is_set_back_makes_a_minute_again_and_loses_neither(void **state)
{
	uint64_t minute_s = 0, dropped;
	unsigned int count;
	pid_t agent;

	served__configure(STORE);
	served__step_clock(-2, 2);
	agent = served__start();
	served__wait_for("/metrics", RUNNING);
	for (int i = 0; i < 300 && spooled(&minute_s) < 3; i++)
		served__sleep_ms(100);
	dropped = served__number(served__wait_for("/metrics", DROPPED), DROPPED);
	served__stop(agent);
	count = spooled(&minute_s);
	assert_true(count >= 3);
	assert_int_not_equal(minute_s, 0); /* they are all the same */
	assert_int_equal(dropped, 0);
}

/* --- certificates ----------------------------------------------------------------------------- */

static void an_expired_certificate_is_logged_once(void **state)
{
	char command[512], more[256];
	const char *folder = served__folder();
	pid_t agent;

	snprintf(command, sizeof(command),
		 "cd %s && { openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout "
		 "key -out new && openssl x509 -in new -signkey key -days -1 -out expired; } "
		 ">openssl.log 2>&1",
		 folder);
	assert_int_equal(system(command), 0);
	snprintf(more, sizeof(more), "metrics.certificate: %s/expired\nmetrics.key: %s/key\n",
		 folder, folder);
	served__configure(more);
	agent = served__start();
	served__wait_for_log("metrics: the certificate of the server has expired");
	served__sleep_ms(2500);
	assert_int_equal(served__count(served__log(), "has expired"), 1);
	served__stop(agent);
}

/* --- the kernel ------------------------------------------------------------------------------- */

static int all_hooks(void **state)
{
	unsetenv("GAPLESS_TEST_WITHOUT");
	return 0;
}

static void without_a_hook_it_serves_the_rest_and_says_so(void **state)
{
	pid_t agent;

	setenv("GAPLESS_TEST_WITHOUT", "contention_begin,cgroup_mkdir", 1);
	served__configure("");
	agent = served__start();
	served__wait_for("/metrics", RUNNING);
	served__wait_for("/readyz", "200");
	assert_non_null(strstr(served__log(), "'contention_begin' cannot be hooked"));
	assert_non_null(strstr(served__log(), "'cgroup_mkdir' cannot be hooked"));
	assert_int_equal(served__count(served__log(), "cannot be hooked"), 2);
	served__stop(agent);
}

static void without_the_ledger_it_fails(void **state)
{
	pid_t agent;
	int status;

	setenv("GAPLESS_TEST_WITHOUT", "sched_switch", 1);
	served__configure("");
	agent = served__start();
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status));
	assert_non_null(strstr(served__log(), "'sched_switch' cannot be hooked"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		HERE_THEN(without_a_hook_it_serves_the_rest_and_says_so, all_hooks),
		HERE_THEN(without_the_ledger_it_fails, all_hooks),
		HERE(an_expired_certificate_is_logged_once),
		HERE(what_a_killed_agent_had_is_spooled_and_the_next_one_goes_on),
		HERE_THEN(a_clock_that_is_set_back_makes_a_minute_again_and_loses_neither,
			  right_clock),
		HERE_THEN(a_spool_that_cannot_be_written_costs_old_minutes_only, unmount_spool),
	};

	return cmocka_run_group_tests(tests, served__set_up, served__tear_down);
}
