/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "model/user_time.h"

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

void user_time__add(struct model *model, uint32_t node, bool in_kernel, const struct hot_sum *tick)
{
	const struct hot *hot = &model->hot;
	struct user_time *time = &model->user_time;
	enum user_time_part part = USER_TIME_KERNEL;
	bool syscall = false, work = false, seen = false;

	for (; node && hot->functions[hot->nodes[node].function].kernel;
	     node = hot->nodes[node].parent) {
		const char *name = hot->functions[hot->nodes[node].function].name;

		seen = true;
		syscall |= is_syscall(name);
		work |= is_work(name);
		if (is_fault(name))
			part = USER_TIME_FAULTS;
	}
	if (in_kernel && !seen)
		return; /* the stack was lost */
	if (!seen)
		part = USER_TIME_OWN;
	/*
	 * The tick hit the entry or exit path of a syscall. run.kernel already includes that time.
	 */
	if (part == USER_TIME_KERNEL && syscall && !work && time->crossing_ns)
		return;
	hot__add(&time->parts[part], tick);
	hot__add(&time->sampled, tick);
}

static bool is_counted(const struct model_thread *thread)
{
	return !thread->outside && !(thread->flags & RECORDING_THREAD_OWN);
}

static int take_faults(struct model *model, sqlite3_stmt *row)
{
	const struct model_thread *thread = load__thread(model, sqlite3_column_int64(row, 0));
	struct user_time *time = &model->user_time;

	if (thread && !is_counted(thread))
		return 0;
	time->minor += load__amount(sqlite3_column_int64(row, 1), LOAD_MOST, &time->loaded);
	time->major += load__amount(sqlite3_column_int64(row, 2), LOAD_MOST, &time->loaded);
	return 0;
}

static int take_known(struct model *model, sqlite3_stmt *row)
{
	model->user_time.has_faults = sqlite3_column_int64(row, 0) > 0;
	return 0;
}

int load__user_time(struct model *model, sqlite3 *db)
{
	int err;

	for (size_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];

		for (size_t j = 0; j < thread->cell_count; j++) {
			const struct model_state *state = thread->cells[j].state;

			if (is_counted(thread) && state->kind == KIND_RUN &&
			    !strcmp(state->cause, "user"))
				model->user_time.ns += thread->cells[j].ns;
		}
	}
	/* Version 0.1.0 did not count page faults. */
	err = load__each(model, db, "SELECT count(*) FROM sqlite_master WHERE name = 'fault_slice'",
			 take_known);
	if (err || !model->user_time.has_faults)
		return err;
	return load__each(model, db, sql__faults, take_faults);
}

struct user_time_share user_time__share(const struct user_time *time, enum user_time_part part)
{
	const struct hot_sum *sum = &time->parts[part];
	double whole = (double)time->sampled.ns;
	double share = whole > 0 ? (double)sum->ns / whole : 0;
	double error = hot__error(sum, &time->sampled);

	return (struct user_time_share) {
		.ns = (int64_t)((double)time->ns * share),
		.error_ns = (int64_t)((double)time->ns * error / 100),
		.percent = share * 100,
		.error_percent = error,
	};
}

const char *user_time__name(enum user_time_part part)
{
	static const char *const names[USER_TIME_PARTS] = { "own", "page_faults", "other_kernel" };

	return names[part];
}

static void say_parts(const struct user_time *time, char *text, size_t size)
{
	static const char *const words[USER_TIME_PARTS] = { "the program's own code", "page faults",
							    "other work of the kernel" };
	const char *before = "";

	words__say(text, size, "; by %s sample%s, ", words__number(time->sampled.samples).text,
		   time->sampled.samples == 1 ? "" : "s");
	for (int part = 0; part < USER_TIME_PARTS; part++) {
		struct user_time_share share = user_time__share(time, part);

		if (!time->parts[part].ns)
			continue;
		words__say(text, size, "%s%s %s is %s (%s)", before,
			   words__about(time->parts[part].ns, time->sampled.ns).text,
			   hot__plus_minus(share.error_percent).text, words[part],
			   words__time(share.ns).text);
		before = ", ";
	}
}

static void say_faults(const struct user_time *time, char *text, size_t size)
{
	int64_t all = time->minor + time->major;

	if (!time->has_faults)
		return;
	words__say(text, size, "; %s page fault%s%s", all ? words__number(all).text : "no",
		   all == 1 ? "" : "s", all ? ", those inside syscalls included" : "");
	if (time->major)
		words__say(text, size, ", %s of them major", words__number(time->major).text);
}

void user_time__say(const struct model *model, char *text, size_t size)
{
	const struct user_time *time = &model->user_time;

	*text = '\0';
	if (!time->ns)
		return;
	words__say(text, size, "run.user is the time outside syscalls");
	if (time->sampled.ns > 0)
		say_parts(time, text, size);
	else
		words__say(text, size,
			   "; without samples of it, own code is not told from page faults and "
			   "other work of the kernel");
	say_faults(time, text, size);
}
