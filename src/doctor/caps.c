/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the smallest set of capabilities by experiment. The documentation of which operation needs
 * which capability is spread over the kernel and changes. A child that has dropped root and kept
 * only the set in question gives the right answer for this machine. Everything that works with full
 * privileges must still work; capabilities are dropped one by one, broad ones first.
 */
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "core/canary.h"
#include "doctor/doctor.h"

#define NOBODY 65534

enum { WORKS_KALLSYMS = FEATURE_COUNT, WORKS_FOREIGN_PROCESS, WORKS_CANARY };

DEFINE_CLEANUP(struct features *, features__free)

/*
 * Whether mappings, files and memory of a process of root are readable. That process is the parent,
 * which has not dropped anything and has everything at the same addresses as its child.
 */
static bool foreign_process_readable(pid_t other)
{
	char path[64], byte = 0, copy;
	struct iovec from = { &byte, 1 }, to = { &copy, 1 };
	cleanup(fclose_p) FILE *maps = NULL;

	snprintf(path, sizeof(path), "/proc/%d/maps", other);
	maps = fopen(path, "re");
	if (!maps || fread(&copy, 1, 1, maps) != 1)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/root/proc", other);
	return !faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) &&
	       process_vm_readv(other, &to, 1, &from, 1, 0) == 1;
}

/* A bit for each feature that works in this process. Stops if one of `wanted` does not work. */
static uint64_t what_works(pid_t other, uint64_t wanted)
{
	cleanup(features__free_p) struct features *features = features__new();
	struct canary_result canary = {};
	uint64_t works = 0;

	works |= (uint64_t)doctor__kallsyms_readable() << WORKS_KALLSYMS;
	works |= (uint64_t)foreign_process_readable(other) << WORKS_FOREIGN_PROCESS;
	if (wanted & ~works &
	    (UINT64_C(1) << WORKS_KALLSYMS | UINT64_C(1) << WORKS_FOREIGN_PROCESS))
		return works;
	for (int i = 0; features && i < FEATURE_COUNT; i++) {
		if (features__has(features, i))
			works |= UINT64_C(1) << i;
		else if (wanted & UINT64_C(1) << i)
			return works;
	}
	if (features && !canary__run(features, &canary) && canary.ring == CANARY_EVENTS &&
	    canary.iterator == CANARY_EVENTS)
		works |= UINT64_C(1) << WORKS_CANARY;
	return works;
}

static bool become_nobody_with(const struct doctor_cap *caps)
{
	capng_clear(CAPNG_SELECT_BOTH);
	for (; caps->name; caps++)
		if (caps->held)
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED,
				     (unsigned)caps->number);
	if (capng_change_id(NOBODY, NOBODY, CAPNG_DROP_SUPP_GRP))
		return false;
	/*
	 * Changing the user makes /proc/self unreadable. A program started with file capabilities
	 * can read its own.
	 */
	return !prctl(PR_SET_DUMPABLE, 1);
}

/* Whether all of `wanted` works in a child that has only `caps`. */
static bool is_enough(const struct doctor_cap *caps, uint64_t wanted)
{
	uint64_t works = 0;
	pid_t parent = getpid(), child;
	int pipe_fds[2];

	if (pipe(pipe_fds))
		return false;
	child = fork();
	if (!child) {
		if (become_nobody_with(caps))
			works = what_works(parent, wanted);
		_exit(write(pipe_fds[1], &works, sizeof(works)) != sizeof(works));
	}
	close(pipe_fds[1]);
	if (child > 0) {
		if (read(pipe_fds[0], &works, sizeof(works)) != sizeof(works))
			works = 0;
		waitpid(child, NULL, 0);
	}
	close(pipe_fds[0]);
	return (works & wanted) == wanted;
}

/*
 * Drops from `caps` what is not needed for all of `wanted`. False: even all of them are not enough.
 */
static bool shrink(struct doctor_cap *caps, uint64_t wanted)
{
	if (!is_enough(caps, wanted))
		return false;
	for (struct doctor_cap *cap = caps; cap->name; cap++) {
		if (!cap->held)
			continue;
		cap->held = false;
		cap->held = !is_enough(caps, wanted);
	}
	return true;
}

int doctor__smallest_caps(bool with_uprobes, struct doctor_cap *caps, size_t size)
{
	static const uint64_t uprobes = UINT64_C(1) << FEATURE_UPROBE |
					UINT64_C(1) << FEATURE_URETPROBE |
					UINT64_C(1) << FEATURE_USDT;
	const struct doctor_cap *known = doctor__known_caps();
	uint64_t wanted = what_works(getpid(), 0);

	if (geteuid() || !(wanted & UINT64_C(1) << WORKS_CANARY))
		return -EPERM;
	if (!with_uprobes)
		wanted &= ~uprobes;
	capng_get_caps_process();
	for (size_t i = 0; i < size; i++) {
		caps[i] = known[i];
		if (!known[i].name)
			return shrink(caps, wanted) ? 0 : -ENOTSUP;
		caps[i].held = capng_have_capability(CAPNG_EFFECTIVE, (unsigned)known[i].number);
	}
	return -E2BIG;
}
