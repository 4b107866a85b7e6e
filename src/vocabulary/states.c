#include "vocabulary/states.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vocabulary/calls.h"

#define STATE_WORDS(slot, state, cause, kind, letter, title, light, dark, chrome, firefox, phrase, \
		    about, flags)                                                                  \
	[SLOT_##slot] = { state, cause,  KIND_##kind, letter, title, light,                        \
			  dark,  chrome, firefox,     phrase, about, flags },
#define KIND_WORDS(kind, ...) [KIND_##kind] = { __VA_ARGS__ },

static const struct state_words words[SLOT_COUNT] = {
	[SLOT_NONE] = { "unseen", "none", KIND_UNSEEN, .title = "", .phrase = "", .about = "" },
	STATES(STATE_WORDS)
};

static const struct kind_words kinds[KIND_COUNT] = { KINDS(KIND_WORDS) };

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

const struct kind_words *kinds__words(enum kind kind)
{
	return &kinds[kind];
}

/* What is no wait has its kind's key as its state. */
enum kind kinds__of(const char *state, const char *key)
{
	const char *wanted = strcmp(state, "wait") ? state : key;

	for (int i = 0; wanted && i < KIND_COUNT; i++)
		if (!strcmp(kinds[i].key, wanted))
			return (enum kind)i;
	return strcmp(state, "wait") ? KIND_UNSEEN : KIND_DELAYING;
}

const struct state_words *states__words(enum ledger_slot slot)
{
	return &words[slot];
}

const char *states__key(enum ledger_slot slot)
{
	return SLOT_IS_WAIT(slot) ? kinds[words[slot].kind].key : NULL;
}

static bool is_called(enum ledger_slot slot, const char *state, const char *cause)
{
	return !strcmp(words[slot].state, state) && !strcmp(words[slot].cause, cause);
}

enum ledger_slot states__find(const char *state, const char *cause, enum kind kind)
{
	enum ledger_slot found = SLOT_NONE;

	for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		if (!is_called(slot, state, cause))
			continue;
		if (words[slot].kind == kind)
			return slot;
		found = found ? found : slot;
	}
	return found;
}

enum ledger_slot states__look(const char *state, const char *cause, enum kind kind)
{
	enum ledger_slot last = SLOT_NONE;

	for (enum ledger_slot slot = SLOT_FIRST; slot < SLOT_COUNT; slot++) {
		if (words[slot].kind != kind)
			continue;
		if (is_called(slot, state, cause))
			return slot;
		last = slot;
	}
	return last;
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
