#include "vocabulary/states.h"

#include <stdio.h>
#include <string.h>

#include "vocabulary/calls.h"

static const struct state_words words[SLOT_COUNT] = {
	[SLOT_NONE] = { "unseen", "none", NULL, "" },
	[SLOT_RUN_USER] = { "run", "user", NULL,
			    "outside syscalls: own code, page faults, signals" },
	[SLOT_RUN_KERNEL] = { "run", "kernel", NULL, "in the kernel on its behalf" },
	[SLOT_RUN_ANY] = { "run", "any", NULL, "on a CPU, user or kernel" },
	[SLOT_READY_WOKEN] = { "ready", "woken", NULL, "woken, but no CPU yet" },
	[SLOT_READY_PREEMPTED] = { "ready", "preempted", NULL, "put aside for another thread" },
	[SLOT_WAIT_LOCK] = { "wait", "lock", "undecided", "a futex: condition or lock" },
	[SLOT_WAIT_LOCK_OWNED] = { "wait", "lock", "delaying", "a lock that a thread holds" },
	[SLOT_WAIT_DISK] = { "wait", "disk", "delaying", "files and block devices" },
	[SLOT_WAIT_NET] = { "wait", "net", "delaying", "data from or to a socket" },
	[SLOT_WAIT_ACCEPT] = { "wait", "net", "idle", "accept: the next connection" },
	[SLOT_WAIT_POLL] = { "wait", "poll", "idle", "epoll, poll, select" },
	[SLOT_WAIT_SLEEP] = { "wait", "sleep", "idle", "a time or a signal" },
	[SLOT_WAIT_PIPE] = { "wait", "pipe", "delaying", "a pipe's or queue's other end" },
	[SLOT_WAIT_CHILD] = { "wait", "child", "delaying", "a child process" },
	[SLOT_WAIT_FAULT] = { "wait", "fault", "delaying", "a page to come in" },
	[SLOT_WAIT_KERNEL] = { "wait", "kernel", "delaying", "a lock, memory or RCU" },
	[SLOT_WAIT_URING] = { "wait", "uring", "idle", "io_uring completions or work" },
	[SLOT_WAIT_STOPPED] = { "wait", "stopped", "delaying", "stopped, traced or frozen" },
	[SLOT_WAIT_OTHER] = { "wait", "other", "delaying", "another syscall" },
	[SLOT_WAIT_KTHREAD] = { "wait", "other", "idle", "a kernel thread without work" },
	[SLOT_UNSEEN] = { "unseen", "start", NULL, "before it was first observed" },
};

struct class_names {
	enum ledger_class class;
	const char *names; /* separated by spaces */
};

static const struct class_names class_names[] = {
	{ CLASS_FUTEX, "futex" },
	{ CLASS_FUTEX2, "futex_wait futex_wake futex_requeue" },
	{ CLASS_LOCK, "futex_waitv semop semtimedop" },
	{ CLASS_LOCK_FD, "flock fcntl" },
	{ CLASS_SLEEP, "nanosleep clock_nanosleep pause rt_sigsuspend rt_sigtimedwait" },
	{ CLASS_POLL, "epoll_wait epoll_pwait epoll_pwait2 poll ppoll select pselect6" },
	{ CLASS_CHILD, "wait4 waitid vfork clone clone3" },
	{ CLASS_NET, "recvfrom recvmsg recvmmsg sendto sendmsg sendmmsg connect" },
	{ CLASS_ACCEPT, "accept accept4" },
	{ CLASS_FD, "read write pread64 pwrite64 readv writev preadv pwritev preadv2 pwritev2 "
		    "vmsplice fsync fdatasync sync_file_range fallocate "
		    "ftruncate getdents getdents64 ioctl readahead close fadvise64 fstat lseek" },
	{ CLASS_COPY, "sendfile splice tee copy_file_range" },
	{ CLASS_DISK,
	  "open openat openat2 creat stat lstat newfstatat statx access faccessat "
	  "faccessat2 readlink readlinkat unlink unlinkat rename renameat renameat2 mkdir "
	  "mkdirat rmdir link linkat symlink symlinkat truncate chmod fchmodat chown sync "
	  "syncfs msync mount umount2 io_getevents io_pgetevents io_submit execve execveat" },
	{ CLASS_QUEUE, "msgrcv msgsnd mq_timedreceive mq_timedsend" },
	{ CLASS_URING, "io_uring_enter" },
};

const struct state_words *states__words(enum ledger_slot slot)
{
	return &words[slot];
}

static void add_bits(uint8_t classes[CALL_NUMBERS], const char *at, uint8_t bits)
{

	while (*at) {
		char name[32];
		int length = (int)strcspn(at, " "), number;

		snprintf(name, sizeof(name), "%.*s", length, at);
		number = calls__number(name);
		/* Negative: not a syscall of this architecture. */
		if (number >= 0 && number < CALL_NUMBERS)
			classes[number] |= bits;
		at += length;
		at += strspn(at, " ");
	}
}

void states__classes(uint8_t classes[CALL_NUMBERS])
{
	memset(classes, CLASS_OTHER, CALL_NUMBERS);
	for (size_t i = 0; i < sizeof(class_names) / sizeof(*class_names); i++)
		add_bits(classes, class_names[i].names, (uint8_t)class_names[i].class);
}

int states__number(const char *name)
{
	return calls__number(name);
}

const char *states__syscall_name(int number)
{
	return calls__name((uint32_t)number);
}

const char *states__evidence(enum ledger_evidence evidence)
{
	static const char *const names[] = { "none", "waker", "owner", "handed", "timeout" };

	return names[evidence <= EVIDENCE_TIMEOUT ? evidence : EVIDENCE_NONE];
}

const char *states__object_kind(enum ledger_object kind)
{
	static const char *const names[OBJECT_KINDS] = {
		[OBJECT_NONE] = "none",          [OBJECT_FUTEX] = "futex",
		[OBJECT_FILE] = "file",          [OBJECT_SOCKET] = "socket",
		[OBJECT_PIPE] = "pipe",          [OBJECT_CHILD] = "child",
		[OBJECT_KERNEL] = "kernel lock", [OBJECT_SYSCALL] = "syscall",
		[OBJECT_MEMORY] = "memory",      [OBJECT_ANONYMOUS] = "descriptor",
		[OBJECT_OTHER] = "other",
	};

	return names[kind < OBJECT_KINDS ? kind : OBJECT_OTHER];
}
