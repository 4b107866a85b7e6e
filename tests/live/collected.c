/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "../harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "identity/identity.h"

#include "collected.h"
#include "live.h"

uint64_t collected__workload(void *context, const struct folding_process *process)
{
	return map__mix_text(map__mix(0, process->cgroup_id), process->name) | 1;
}

static const char *service_of(void *context, uint64_t workload)
{
	static char name[32];

	snprintf(name, sizeof(name), "%llx", (unsigned long long)workload);
	return name;
}

static struct collected_cgroup cgroup;

const struct collected_cgroup *collected__cgroup(void)
{
	return &cgroup;
}

static void note_cgroup(void *context, const struct ledger_cgroup_record *record)
{
	if (!strstr(record->path, "gapless-test"))
		return;
	cgroup.id = record->id;
	cgroup.is_gone = record->is_gone;
	snprintf(cgroup.path, sizeof(cgroup.path), "%s", record->path);
}

struct collector *collected__open(bool with_occupants)
{
	const struct collector_options options = {
		.fold = { collected__workload, service_of, identity__fold_name, NULL },
		.limits = { .most_rows = 4096, .most_objects = 8, .most_groups = 64 },
		.note_cgroup = note_cgroup,
		.with_occupants = with_occupants,
	};
	struct features *features = features__new();
	struct collector *collector;
	uint64_t start_ns;

	assert_int_equal(collector__open(&options, features, &collector), 0);
	assert_int_equal(collector__start(collector, &start_ns), 0);
	features__free(features);
	return collector;
}

void collected__add(struct collected *sums, const struct bucket *step)
{
	size_t count;
	const struct bucket_row *rows = bucket__rows(step, &count);

	assert_true(bucket__closes(step));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].key.threads, sums->group))
			continue;
		sums->ns[rows[i].key.slot] += rows[i].ns;
		sums->count[rows[i].key.slot] += rows[i].count;
		sums->kind_ns[rows[i].key.kind] += rows[i].ns;
		sums->thread_ns += rows[i].thread_ns;
		sums->unexplained_ns += rows[i].unexplained_ns;
		sums->workload = rows[i].key.workload;
		if (sums->by && rows[i].key.evidence == sums->evidence &&
		    !strcmp(rows[i].key.by_threads, sums->by))
			sums->culprit_ns += rows[i].ns;
		if (SLOT_IS_WAIT(rows[i].key.slot) && rows[i].ns > sums->object_ns) {
			sums->object_ns = rows[i].ns;
			snprintf(sums->object, sizeof(sums->object), "%s", rows[i].key.object);
		}
	}
}

void collected__step(struct collector *collector, struct collected *sums, bool is_whole)
{
	const struct bucket *step;

	assert_int_equal(collector__step(collector, is_whole, &step), 0);
	collected__add(sums, step);
}

uint64_t collected__total(const struct collected *sums)
{
	uint64_t ns = 0;

	for (int slot = 0; slot < SLOT_COUNT; slot++)
		ns += sums->ns[slot];
	return ns;
}

pid_t collected__child(const char *name, void (*work)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_NAME, name);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	work();
	_exit(0);
}

int collected__await(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	collected__sleep_ms(is_emulated() ? 500 : 50);
	return status;
}

void collected__sleep_ms(long ms)
{
	nanosleep(&(struct timespec) { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}
