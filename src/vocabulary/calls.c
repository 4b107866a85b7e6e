#include "vocabulary/calls.h"

#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 32

struct call_words {
	const char *name;
	const char *arguments;
};

/* Those that can take long. By name, so that the numbers are this architecture's own. */
static const struct call_words words[] = {
	/* descriptors */
	{ "read", "f.n" },
	{ "write", "f.n" },
	{ "pread64", "f.nn" },
	{ "pwrite64", "f.nn" },
	{ "readv", "f.n" },
	{ "writev", "f.n" },
	{ "preadv", "f.nn" },
	{ "pwritev", "f.nn" },
	{ "preadv2", "f.nn" },
	{ "pwritev2", "f.nn" },
	{ "sendfile", "ff.n" },
	{ "splice", "f.f.n" },
	{ "tee", "ffnx" },
	{ "vmsplice", "f.nx" },
	{ "copy_file_range", "f.f.n" },
	{ "fsync", "f" },
	{ "fdatasync", "f" },
	{ "syncfs", "f" },
	{ "sync_file_range", "fnnx" },
	{ "fallocate", "fxnn" },
	{ "ftruncate", "fn" },
	{ "getdents", "f.n" },
	{ "getdents64", "f.n" },
	{ "ioctl", "fx." },
	{ "fcntl", "fn." },
	{ "flock", "fx" },
	{ "readahead", "fnn" },
	{ "fadvise64", "fnnn" },
	{ "fstat", "f." },
	{ "fstatfs", "f." },
	{ "fchmod", "fo" },
	{ "fchown", "fnn" },
	{ "fchdir", "f" },
	{ "lseek", "fsn" },
	{ "close", "f" },
	{ "dup2", "fn" },
	{ "dup3", "fnx" },
	{ "mmap", ".nxxf" },
	{ "inotify_add_watch", "fpx" },
	{ "finit_module", "f.x" },
	{ "epoll_wait", "f.ns" },
	{ "epoll_pwait", "f.ns" },
	{ "io_uring_enter", "fnnx" },
	/* paths */
	{ "open", "pxo" },
	{ "openat", "dpxo" },
	{ "openat2", "dp.n" },
	{ "creat", "po" },
	{ "stat", "p." },
	{ "lstat", "p." },
	{ "newfstatat", "dp.x" },
	{ "statx", "dpxx." },
	{ "statfs", "p." },
	{ "access", "po" },
	{ "faccessat", "dpo" },
	{ "faccessat2", "dpox" },
	{ "readlink", "p.n" },
	{ "readlinkat", "dp.n" },
	{ "unlink", "p" },
	{ "unlinkat", "dpx" },
	{ "rename", "pp" },
	{ "renameat", "dpdp" },
	{ "renameat2", "dpdpx" },
	{ "mkdir", "po" },
	{ "mkdirat", "dpo" },
	{ "mknod", "pox" },
	{ "mknodat", "dpox" },
	{ "rmdir", "p" },
	{ "link", "pp" },
	{ "linkat", "dpdpx" },
	{ "symlink", "pp" },
	{ "symlinkat", "pdp" },
	{ "truncate", "pn" },
	{ "chmod", "po" },
	{ "fchmodat", "dpo" },
	{ "chown", "pnn" },
	{ "lchown", "pnn" },
	{ "fchownat", "dpnnx" },
	{ "utimensat", "dp.x" },
	{ "chdir", "p" },
	{ "chroot", "p" },
	{ "mount", "pp.x." },
	{ "umount2", "px" },
	{ "swapon", "px" },
	{ "swapoff", "p" },
	{ "execve", "p.." },
	{ "execveat", "dp..x" },
	{ "getxattr", "p..n" },
	{ "lgetxattr", "p..n" },
	{ "setxattr", "p..nx" },
	{ "lsetxattr", "p..nx" },
	{ "listxattr", "p.n" },
	{ "removexattr", "p." },
	{ "name_to_handle_at", "dp..x" },
	/* sockets and queues */
	{ "recvfrom", "f.nx." },
	{ "recvmsg", "f.x" },
	{ "recvmmsg", "f.nx." },
	{ "sendto", "f.nx." },
	{ "sendmsg", "f.x" },
	{ "sendmmsg", "f.nx" },
	{ "connect", "f.n" },
	{ "accept", "f.." },
	{ "accept4", "f..x" },
	{ "shutdown", "fn" },
	{ "bind", "f.n" },
	{ "listen", "fn" },
	{ "setsockopt", "fnn.n" },
	{ "getsockopt", "fnn.." },
	{ "msgrcv", "n.nsx" },
	{ "msgsnd", "n.nx" },
	{ "mq_timedreceive", "f.n.." },
	{ "mq_timedsend", "f.nn." },
	/* memory, processes, the rest */
	{ "munmap", ".n" },
	{ "mprotect", ".nx" },
	{ "mremap", ".nnx" },
	{ "madvise", ".nn" },
	{ "msync", ".nx" },
	{ "mlock", ".n" },
	{ "brk", "x" },
	{ "futex", "xnn." },
	{ "wait4", "s.x." },
	{ "waitid", "nn.x." },
	{ "kill", "sn" },
	{ "poll", ".ns" },
	{ "getrandom", ".nx" },
	{ "sync", "" },
};

/* They wait by choice, or, as futexes and semaphores, for what nobody can tell from outside. */
static const char *const idle[] = {
	"futex",      "futex_wait",      "futex_waitv",  "semop",         "semtimedop",
	"nanosleep",  "clock_nanosleep", "pause",        "rt_sigsuspend", "rt_sigtimedwait",
	"epoll_wait", "epoll_pwait",     "epoll_pwait2", "poll",          "ppoll",
	"select",     "pselect6",        "accept",       "accept4",       "wait4",
	"waitid",     "io_uring_enter",
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Younger than some versions of libseccomp. Calls since Linux 5.1 have one number everywhere. */
static const struct {
	const char *name;
	int number;
} young[] = { { "futex_wake", 454 }, { "futex_wait", 455 }, { "futex_requeue", 456 } };

int calls__number(const char *name)
{
	int number = seccomp_syscall_resolve_name(name);

	for (size_t i = 0; number < 0 && i < COUNT(young); i++)
		if (!strcmp(young[i].name, name))
			number = young[i].number;
	return number;
}

/* Negative, and so larger than all: not a syscall of this architecture. */
static uint32_t number_of(const char *name)
{
	return (uint32_t)calls__number(name);
}

const char *calls__name(uint32_t number)
{
	static char unknown[NAME_BYTES];
	static const char *names[CALL_NUMBERS]; /* for as long as the program runs */

	if (number == CALL_32BIT)
		return "(32-bit call)";
	if (number < CALL_NUMBERS && !names[number])
		names[number] = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, (int)number);
	for (size_t i = 0; number < CALL_NUMBERS && !names[number] && i < COUNT(young); i++)
		if (young[i].number == (int)number)
			names[number] = young[i].name;
	if (number < CALL_NUMBERS && names[number])
		return names[number];
	snprintf(unknown, sizeof(unknown), "syscall_%u", number);
	return unknown;
}

const char *calls__arguments(uint32_t number)
{
	static const char *arguments[CALL_NUMBERS];
	static bool is_filled;

	for (size_t i = 0; i < COUNT(words) && !is_filled; i++)
		if (number_of(words[i].name) < CALL_NUMBERS)
			arguments[number_of(words[i].name)] = words[i].arguments;
	is_filled = true;
	return number < CALL_NUMBERS && arguments[number] ? arguments[number] : "";
}

static struct call_shape shape_of(const char *arguments)
{
	struct call_shape shape = {};
	int paths = 0;

	for (uint8_t i = 0; arguments[i]; i++) {
		if ((arguments[i] == 'f' || arguments[i] == 'd') && !shape.fd)
			shape.fd = i + 1;
		if (arguments[i] == 'p' && paths < CALL_PATHS)
			shape.path[paths++] = i + 1;
	}
	return shape;
}

void calls__shapes(struct call_shape ret[CALL_NUMBERS])
{
	for (uint32_t i = 0; i < CALL_NUMBERS; i++)
		ret[i] = shape_of(calls__arguments(i));
	for (size_t i = 0; i < COUNT(idle); i++)
		if (number_of(idle[i]) < CALL_NUMBERS)
			ret[number_of(idle[i])].idle = 1;
}
