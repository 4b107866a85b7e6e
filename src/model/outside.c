/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/outside.h"

#include <string.h>

#include "model/load.h"
#include "model/sql.h"
#include "recording/recording.h"

/* Whether a kernel function's name is in `known`. It may have a suffix, such as ".part.0". */
static bool is_any(const char *name, const char *const *known)
{
	for (; *known; known++)
		if (!strncmp(name, *known, strlen(*known)))
			return true;
	return false;
}

static bool is_fault(const char *name)
{
	static const char *const known[] = { "asm_exc_page_fault", "exc_page_fault",
					     "do_user_addr_fault", "handle_mm_fault",
					     "__handle_mm_fault",  NULL };

	return is_any(name, known);
}

static bool is_syscall(const char *name)
{
	static const char *const known[] = { "do_syscall_64", "entry_SYSCALL_64", "x64_sys_call",
					     NULL };

	return is_any(name, known);
}

/* Kernel functions that run on the way back to user space, and interrupts. */
static bool is_work(const char *name)
{
	static const char *const known[] = { "task_work_run",
					     "exit_to_user_mode_loop",
					     "arch_do_signal_or_restart",
					     "get_signal",
					     "schedule",
					     "__schedule",
					     "ptrace_",
					     "mem_cgroup_handle_over_high",
					     "asm_sysvec_",
					     "asm_common_interrupt",
					     "sysvec_",
					     "common_interrupt",
					     "irq_exit",
					     "__irq_exit",
					     "handle_softirqs",
					     "__do_softirq",
					     NULL };

	return is_any(name, known);
}

void outside__add(struct model *model, uint32_t node, bool in_kernel, const struct hot_sum *tick)
{
	const struct hot *hot = &model->hot;
	struct outside *outside = &model->outside;
	enum outside_part part = OUTSIDE_KERNEL;
	bool syscall = false, work = false, seen = false;

	for (; node && hot->functions[hot->nodes[node].function].kernel;
	     node = hot->nodes[node].parent) {
		const char *name = hot->functions[hot->nodes[node].function].name;

		seen = true;
		syscall |= is_syscall(name);
		work |= is_work(name);
		if (is_fault(name))
			part = OUTSIDE_FAULTS;
	}
	if (in_kernel && !seen)
		return; /* the stack was lost */
	if (!seen)
		part = OUTSIDE_OWN;
	/*
	 * The tick hit the entry or exit path of a syscall. run.kernel already includes that time.
	 */
	if (part == OUTSIDE_KERNEL && syscall && !work && outside->crossing_ns)
		return;
	hot__add(&outside->parts[part], tick);
	hot__add(&outside->sampled, tick);
}

static int take_faults(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *thread = load__thread(model, sqlite3_column_int64(row, 0));
	struct outside *outside = &model->outside;

	if (thread && thread->flags & RECORDING_THREAD_OWN)
		return 0;
	outside->minor += load__amount(sqlite3_column_int64(row, 1), LOAD_MOST, &outside->loaded);
	outside->major += load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &outside->loaded);
	return 0;
}

static int take_known(struct model *model, sqlite3_stmt *row)
{
	model->outside.has_faults = sqlite3_column_int64(row, 0) > 0;
	return 0;
}

int load__outside(struct model *model, sqlite3 *db)
{
	int err;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		for (size_t j = 0; j < thread->cell_count; j++) {
			const struct model_state *state = thread->cells[j].state;

			if (!(thread->flags & RECORDING_THREAD_OWN) && state->kind == KIND_RUN &&
			    !strcmp(state->cause, "user"))
				model->outside.ns += thread->cells[j].ns;
		}
	}
	/* Version 0.1.0 did not count page faults. */
	err = load__each(model, db, "SELECT count(*) FROM sqlite_master WHERE name = 'fault_slice'",
			 take_known);
	if (err || !model->outside.has_faults)
		return err;
	return load__each(model, db, sql__faults, take_faults);
}

struct outside_share outside__share(const struct outside *outside, enum outside_part part)
{
	const struct hot_sum *sum = &outside->parts[part];
	double whole = (double)outside->sampled.ns;
	double share = whole > 0 ? (double)sum->ns / whole : 0;
	double error = hot__error(sum, &outside->sampled);

	return (struct outside_share) {
		.ns = (int64_t)((double)outside->ns * share),
		.error_ns = (int64_t)((double)outside->ns * error / 100),
		.percent = share * 100,
		.error_percent = error,
	};
}

const char *outside__name(enum outside_part part)
{
	static const char *const names[OUTSIDE_PARTS] = { "own", "page_faults", "other_kernel" };

	return names[part];
}

static void say_parts(const struct outside *outside, char *text, size_t size)
{
	static const char *const words[OUTSIDE_PARTS] = { "the program's own code", "page faults",
							  "other work of the kernel" };
	const char *before = "";

	words__say(text, size, "; by %s sample%s, ", words__number(outside->sampled.samples).text,
		   outside->sampled.samples == 1 ? "" : "s");
	for (int part = 0; part < OUTSIDE_PARTS; part++) {
		struct outside_share share = outside__share(outside, part);

		if (!outside->parts[part].ns)
			continue;
		words__say(text, size, "%s%s %s is %s (%s)", before,
			   words__about(outside->parts[part].ns, outside->sampled.ns).text,
			   hot__plus_minus(share.error_percent).text, words[part],
			   words__time(share.ns).text);
		before = ", ";
	}
}

static void say_faults(const struct outside *outside, char *text, size_t size)
{
	int64_t all = outside->minor + outside->major;

	if (!outside->has_faults)
		return;
	words__say(text, size, "; %s page fault%s%s", all ? words__number(all).text : "no",
		   all == 1 ? "" : "s", all ? ", those inside syscalls included" : "");
	if (outside->major)
		words__say(text, size, ", %s of them major", words__number(outside->major).text);
}

void outside__say(const struct model *model, char *text, size_t size)
{
	const struct outside *outside = &model->outside;

	*text = '\0';
	if (!outside->ns)
		return;
	words__say(text, size, "run.user is the time outside syscalls");
	if (outside->sampled.ns > 0)
		say_parts(outside, text, size);
	else
		words__say(text, size,
			   "; without samples of it, own code is not told from page faults and "
			   "other work of the kernel");
	say_faults(outside, text, size);
}
