/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sample's code: modules, functions, frames, the tree of stacks, and samples on it. */
#include "sample.h"

#include "../harness.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(*(array)))
#define PERIOD_NS       10101010 /* 99 Hz */

/* Breaks XML, JSON, folded lines and terminals, and is not UTF-8. */
#define EVIL "evil;</title><script>alert(\"1\")</script>&\\\n\x1b[31m\xff"

enum { APP = 1, LIBC, KERNEL, JIT, PLUGIN, VDSO };

static void add_modules(struct recording *recording)
{
	static const struct recording_module modules[] = {
		{ APP, "file", "/usr/bin/app", "a1b2c3d4e5f60718293a4b5c6d7e8f9001020304" },
		{ LIBC, "file", "/usr/lib/x86_64-linux-gnu/libc.so.6", "deadbeef" },
		{ KERNEL, "kernel", "[kernel]", "0123456789abcdef" },
		{ JIT, "jit", "[jit 1000]", NULL },
		{ PLUGIN, "file", "/opt/" EVIL "/plug;in\n.so", NULL },
		{ VDSO, "vdso", "[vdso]", NULL },
	};

	for (size_t i = 0; i < COUNT_OF(modules); i++)
		assert_int_equal(recording__add_module(recording, &modules[i]), 0);
}

enum {
	F_START = 1,
	F_MAIN,
	F_SERVE,
	F_PARSE,
	F_TOKEN,
	F_LOCK,
	F_EPOLL,
	F_FSTATAT,
	F_LOG,
	F_FSYNC,
	F_SYSCALL,
	F_FUTEX,
	F_EP_POLL,
	F_STATX,
	F_VFS_FSYNC,
	F_RENDER,
	F_EVIL,
	F_UNLOCK,
	F_IO_DONE,
};

static void add_functions(struct recording *recording)
{
	static const struct recording_function functions[] = {
		{ F_START, LIBC, "start_thread", "start_thread", NULL, 0, "dynsym" },
		{ F_MAIN, APP, "main", "main", "/src/main.c", 10, "dwarf" },
		{ F_SERVE, APP, "Server::serve(Request const&)", "_ZN6Server5serveERK7Request",
		  "/src/serve.cc", 30, "dwarf" },
		{ F_PARSE, APP, "parse(std::string_view)", "_Z5parseSt17basic_string_view",
		  "/src/parse.h", 40, "dwarf" },
		{ F_TOKEN, APP, "next_token", "next_token", "/src/parse.h", 70, "dwarf" },
		{ F_LOCK, LIBC, "pthread_mutex_lock", "pthread_mutex_lock", NULL, 0, "dynsym" },
		{ F_EPOLL, LIBC, "epoll_wait", "epoll_wait", NULL, 0, "dynsym" },
		{ F_FSTATAT, LIBC, "fstatat", "fstatat", NULL, 0, "dynsym" },
		{ F_LOG, APP, "log_line", "log_line", "/src/log.c", 5, "dwarf" },
		{ F_FSYNC, LIBC, "fsync", "fsync", NULL, 0, "dynsym" },
		{ F_SYSCALL, KERNEL, "do_syscall_64", "do_syscall_64", NULL, 0, "kallsyms" },
		{ F_FUTEX, KERNEL, "futex_wait", "futex_wait", NULL, 0, "kallsyms" },
		{ F_EP_POLL, KERNEL, "ep_poll", "ep_poll", NULL, 0, "kallsyms" },
		{ F_STATX, KERNEL, "vfs_statx", "vfs_statx", NULL, 0, "kallsyms" },
		{ F_VFS_FSYNC, KERNEL, "vfs_fsync", "vfs_fsync", NULL, 0, "kallsyms" },
		{ F_RENDER, JIT, "render;items() /srv/app.js:12", NULL, NULL, 0, "perf map" },
		{ F_EVIL, PLUGIN, EVIL, EVIL, "/src/" EVIL ".c", 1, "dwarf" },
		{ F_UNLOCK, LIBC, "pthread_mutex_unlock", "pthread_mutex_unlock", NULL, 0,
		  "dynsym" },
		{ F_IO_DONE, KERNEL, "blk_mq_complete_request", "blk_mq_complete_request", NULL, 0,
		  "kallsyms" },
	};

	for (size_t i = 0; i < COUNT_OF(functions); i++)
		assert_int_equal(recording__add_function(recording, &functions[i]), 0);
}

/* Frames have the number of their function, where they have just one; these have not. */
enum { X_INLINED = 30, X_LIBC, X_KERNEL, X_JIT, X_PLUGIN, X_VDSO, X_SERVE_LATER };

static void add_frame(struct recording *recording, int64_t id, int64_t module, int64_t address,
		      int64_t function, int64_t line)
{
	const struct recording_line row = {
		.frame = id, .function = function, .line = line, .column = line ? 3 : 0
	};

	assert_int_equal(recording__add_frame(recording, id, module, address), 0);
	if (function)
		assert_int_equal(recording__add_line(recording, &row), 0);
}

static void add_frames(struct recording *recording)
{
	static const struct recording_line inlined[] = {
		{ X_INLINED, 0, F_TOKEN, 75, 9 },
		{ X_INLINED, 1, F_PARSE, 48, 0 },
		{ X_INLINED, 2, F_SERVE, 33, 5 },
	};

	add_frame(recording, F_START, LIBC, 0x89144, F_START, 0);
	add_frame(recording, F_MAIN, APP, 0x1150, F_MAIN, 14);
	add_frame(recording, F_SERVE, APP, 0x1210, F_SERVE, 36);
	add_frame(recording, F_LOCK, LIBC, 0x8a0c0, F_LOCK, 0);
	add_frame(recording, F_EPOLL, LIBC, 0x108dde, F_EPOLL, 0);
	add_frame(recording, F_FSTATAT, LIBC, 0xf8a1e, F_FSTATAT, 0);
	add_frame(recording, F_LOG, APP, 0x1300, F_LOG, 7);
	add_frame(recording, F_FSYNC, LIBC, 0xfb2a4, F_FSYNC, 0);
	add_frame(recording, F_SYSCALL, KERNEL, (int64_t)0xffffffff81c00010, F_SYSCALL, 0);
	add_frame(recording, F_FUTEX, KERNEL, (int64_t)0xffffffff81100020, F_FUTEX, 0);
	add_frame(recording, F_EP_POLL, KERNEL, (int64_t)0xffffffff81400030, F_EP_POLL, 0);
	add_frame(recording, F_STATX, KERNEL, (int64_t)0xffffffff81380040, F_STATX, 0);
	add_frame(recording, F_VFS_FSYNC, KERNEL, (int64_t)0xffffffff813c0050, F_VFS_FSYNC, 0);
	add_frame(recording, F_RENDER, JIT, 0x7f1000001000, F_RENDER, 0);
	add_frame(recording, F_EVIL, PLUGIN, 0x666, F_EVIL, 6);
	add_frame(recording, F_UNLOCK, LIBC, 0x8b000, F_UNLOCK, 0);
	add_frame(recording, F_IO_DONE, KERNEL, (int64_t)0xffffffff81500060, F_IO_DONE, 0);
	add_frame(recording, X_INLINED, APP, 0x1234, 0, 0);
	for (size_t i = 0; i < COUNT_OF(inlined); i++)
		assert_int_equal(recording__add_line(recording, &inlined[i]), 0);
	add_frame(recording, X_LIBC, LIBC, 0x9abcd, 0, 0);
	add_frame(recording, X_KERNEL, KERNEL, (int64_t)0xffffffffc0123456, 0, 0);
	add_frame(recording, X_JIT, JIT, 0x7f1000002000, 0, 0);
	add_frame(recording, X_PLUGIN, PLUGIN, 0x777, 0, 0);
	add_frame(recording, X_VDSO, VDSO, 0xc40, 0, 0);
	add_frame(recording, X_SERVE_LATER, APP, 0x1218, F_SERVE, 37);
}

enum {
	S_MAIN = 1,
	S_SERVE,
	S_INLINED,
	S_RENDER,
	S_JIT,
	S_STAT,
	S_STAT_SYSCALL,
	S_STATX,
	S_EPOLL,
	S_EPOLL_SYSCALL,
	S_EP_POLL,
	S_VDSO,
	S_START,
	S_WORK,
	S_WORK_LATER,
	S_WORK_INLINED,
	S_LOCK,
	S_LOCK_SYSCALL,
	S_FUTEX,
	S_EVIL,
	S_PLUGIN,
	S_LIBC_CUT,
	S_LOG,
	S_FSYNC,
	S_FSYNC_SYSCALL,
	S_VFS_FSYNC,
	S_KERNEL_ONLY,
	S_KERNEL_UNKNOWN,
	S_LOG_UNLOCK,
	S_IO_DONE,
};

static void add_tree(struct recording *recording)
{
	static const struct {
		int64_t id, parent, frame;
	} stacks[] = {
		{ S_MAIN, 0, F_MAIN },
		{ S_SERVE, S_MAIN, F_SERVE },
		{ S_INLINED, S_MAIN, X_INLINED },
		{ S_RENDER, S_SERVE, F_RENDER },
		{ S_JIT, S_RENDER, X_JIT },
		{ S_STAT, S_SERVE, F_FSTATAT },
		{ S_STAT_SYSCALL, S_STAT, F_SYSCALL },
		{ S_STATX, S_STAT_SYSCALL, F_STATX },
		{ S_EPOLL, S_MAIN, F_EPOLL },
		{ S_EPOLL_SYSCALL, S_EPOLL, F_SYSCALL },
		{ S_EP_POLL, S_EPOLL_SYSCALL, F_EP_POLL },
		{ S_VDSO, S_MAIN, X_VDSO },
		{ S_START, 0, F_START },
		{ S_WORK, S_START, F_SERVE },
		{ S_WORK_LATER, S_START, X_SERVE_LATER },
		{ S_WORK_INLINED, S_START, X_INLINED },
		{ S_LOCK, S_WORK, F_LOCK },
		{ S_LOCK_SYSCALL, S_LOCK, F_SYSCALL },
		{ S_FUTEX, S_LOCK_SYSCALL, F_FUTEX },
		{ S_EVIL, S_WORK, F_EVIL },
		{ S_PLUGIN, S_EVIL, X_PLUGIN },
		{ S_LIBC_CUT, 0, X_LIBC },
		{ S_LOG, S_START, F_LOG },
		{ S_FSYNC, S_LOG, F_FSYNC },
		{ S_FSYNC_SYSCALL, S_FSYNC, F_SYSCALL },
		{ S_VFS_FSYNC, S_FSYNC_SYSCALL, F_VFS_FSYNC },
		{ S_KERNEL_ONLY, 0, F_SYSCALL },
		{ S_KERNEL_UNKNOWN, S_KERNEL_ONLY, X_KERNEL },
		{ S_LOG_UNLOCK, S_LOG, F_UNLOCK },
		{ S_IO_DONE, 0, F_IO_DONE },
	};

	for (size_t i = 0; i < COUNT_OF(stacks); i++)
		assert_int_equal(recording__add_stack(recording, stacks[i].id, stacks[i].parent,
						      stacks[i].frame),
				 0);
}

/* At `at_ns` after the start; the weight of a wait is its length unless it was drawn. */
static void add_sample(struct recording *recording, int64_t at_ns, int64_t thread, int state,
		       int64_t stack, int64_t weight_ns, const struct recording_sample *more)
{
	struct recording_sample sample = more ? *more : (struct recording_sample) {};
	bool tick = state == SAMPLE_RUN_USER || state == SAMPLE_RUN_KERNEL;

	sample.time_ns = SAMPLE_START_NS + at_ns;
	sample.thread = thread;
	sample.state = state;
	sample.stack = stack;
	sample.weight_ns = weight_ns;
	sample.wait_ns = tick ? 0 : weight_ns;
	sample.period_ns = PERIOD_NS;
	sample.count = sample.count ? sample.count : 1;
	sample.flags |= tick ? RECORDING_SAMPLE_TICK : 0;
	assert_int_equal(recording__add_sample(recording, &sample), 0);
}

static void add_main_samples(struct recording *recording, int64_t slice)
{
	const struct recording_sample waits = { .by = SAMPLE_INTERRUPT,
						.count = 7,
						.evidence = "waker" };
	const struct recording_sample next = { .flags = RECORDING_SAMPLE_NEXT };
	int64_t at = slice * 10 * SECOND;

	add_sample(recording, at + 100 * MS, SAMPLE_MAIN, SAMPLE_RUN_USER, S_INLINED, 900 * MS,
		   NULL);
	add_sample(recording, at + 200 * MS, SAMPLE_MAIN, SAMPLE_RUN_USER, S_JIT, 300 * MS, NULL);
	add_sample(recording, at + 300 * MS, SAMPLE_MAIN, SAMPLE_RUN_USER, S_RENDER, 700 * MS,
		   NULL);
	add_sample(recording, at + 400 * MS, SAMPLE_MAIN, SAMPLE_RUN_USER, S_VDSO, 100 * MS, NULL);
	add_sample(recording, at + 500 * MS, SAMPLE_MAIN, SAMPLE_RUN_KERNEL, S_STATX, 1300 * MS,
		   NULL);
	add_sample(recording, at + 9000 * MS, SAMPLE_MAIN, SAMPLE_POLL, S_EP_POLL, 6600 * MS,
		   &waits);
	add_sample(recording, at + 9100 * MS, SAMPLE_MAIN, SAMPLE_READY_WOKEN, S_SERVE, 100 * MS,
		   &next);
}

static void add_worker_samples(struct recording *recording, int64_t slice, int64_t thread)
{
	const struct recording_sample owned = { .by = SAMPLE_LOGGER,
						.object = 1,
						.waker_stack = S_LOG_UNLOCK,
						.count = 3,
						.evidence = "owner" };
	const struct recording_sample signalled = {
		.by = SAMPLE_WORKER_1 + SAMPLE_WORKER_2 - thread,
		.evidence = "waker",
		.object = 2,
		.waker_stack = S_WORK,
	};
	const struct recording_sample cut = { .end = "no rule" };
	const struct recording_sample none = { .none = "crowded" };
	int64_t at = slice * 10 * SECOND + thread;

	add_sample(recording, at + 150 * MS, thread, SAMPLE_RUN_USER, S_WORK_INLINED, 1000 * MS,
		   NULL);
	add_sample(recording, at + 250 * MS, thread, SAMPLE_RUN_USER, S_WORK, 400 * MS, NULL);
	/* Another address, the same function: one in every picture. */
	add_sample(recording, at + 260 * MS, thread, SAMPLE_RUN_USER, S_WORK_LATER, 300 * MS, NULL);
	add_sample(recording, at + 350 * MS, thread, SAMPLE_RUN_USER, S_PLUGIN, 500 * MS, NULL);
	add_sample(recording, at + 450 * MS, thread, SAMPLE_RUN_USER, S_LIBC_CUT, 300 * MS, &cut);
	add_sample(recording, at + 2650 * MS, thread, SAMPLE_READY_PREEMPTED, S_WORK, 2200 * MS,
		   NULL);
	add_sample(recording, at + 6500 * MS, thread, SAMPLE_LOCK, S_FUTEX, 3800 * MS, &owned);
	add_sample(recording, at + 8000 * MS, thread, SAMPLE_LOCK_OPEN, S_FUTEX, 1400 * MS,
		   &signalled);
	add_sample(recording, at + 8100 * MS, thread, SAMPLE_LOCK_OPEN, S_KERNEL_ONLY, 100 * MS,
		   &none);
}

/* The account has 12 µs less: nobody has a stack for what was unseen. */
static void add_logger_samples(struct recording *recording)
{
	const struct recording_sample disk = {
		.by = SAMPLE_INTERRUPT, .evidence = "waker", .object = 3, .waker_stack = S_IO_DONE
	};
	const struct recording_sample asleep = { .object = 3, .none = "asleep at the end" };

	add_sample(recording, 20 * SECOND, SAMPLE_LOGGER, SAMPLE_DISK, S_VFS_FSYNC,
		   20 * SECOND - 12000, &disk);
	add_sample(recording, 21 * SECOND, SAMPLE_LOGGER, SAMPLE_RUN_KERNEL, S_VFS_FSYNC, 3000 * MS,
		   NULL);
	add_sample(recording, 22 * SECOND, SAMPLE_LOGGER, SAMPLE_RUN_KERNEL, S_KERNEL_UNKNOWN,
		   1000 * MS, &(struct recording_sample) { .none = "busy" });
	add_sample(recording, 29 * SECOND, SAMPLE_LOGGER, SAMPLE_DISK, S_VFS_FSYNC, 5000 * MS,
		   &disk);
	add_sample(recording, 30 * SECOND, SAMPLE_LOGGER, SAMPLE_DISK, 0, 1000 * MS, &asleep);
}

void sample__add_stacks(struct recording *recording)
{
	add_modules(recording);
	add_functions(recording);
	add_frames(recording);
	add_tree(recording);
	for (int64_t i = 0; i < 3; i++) {
		add_main_samples(recording, i);
		add_worker_samples(recording, i, SAMPLE_WORKER_1);
		add_worker_samples(recording, i, SAMPLE_WORKER_2);
	}
	add_logger_samples(recording);
	add_sample(recording, 15 * SECOND, SAMPLE_OWN, SAMPLE_RUN_USER, S_LIBC_CUT, 300 * MS, NULL);
	add_sample(recording, 30 * SECOND, SAMPLE_OWN, SAMPLE_POLL, S_LIBC_CUT, 29700 * MS, NULL);
}
