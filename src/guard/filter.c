/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of what is allowed: a call that a new kernel adds is refused. Calls go by name, so that one
 * list serves all machines; a name that libseccomp does not know for this machine is skipped.
 *
 * Rejected: a filter on paths. seccomp sees only the address of a path, which another thread can
 * change after the check.
 */
#include "guard/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "guard/sanitized.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* Memory, time, descriptors that are open, signals to ourselves, and what the C library needs. */
static const char *const common[] = {
	"read",
	"readv",
	"pread64",
	"preadv",
	"lseek",
	"close",
	"close_range",
	"fstat",
	"newfstatat",
	"statx",
	"fstatfs",
	"access",
	"faccessat",
	"faccessat2",
	"stat",
	"lstat",
	"fadvise64",
	"dup",
	"dup2",
	"dup3",
	"munmap",
	"mremap",
	"madvise",
	"mincore",
	"brk",
	"futex",
	"clock_gettime",
	"clock_getres",
	"clock_nanosleep",
	"nanosleep",
	"gettimeofday",
	"time",
	"getpid",
	"getppid",
	"gettid",
	"getuid",
	"geteuid",
	"getgid",
	"getegid",
	"getrlimit",
	"getrusage",
	"times",
	"rt_sigaction",
	"rt_sigprocmask",
	"rt_sigreturn",
	"sigaltstack",
	"exit",
	"exit_group",
	"sched_yield",
	"sched_getaffinity",
	"sysinfo",
	"uname",
	"getrandom",
	"rseq",
	"set_robust_list",
	"restart_syscall",
	"poll",
	"ppoll",
	"select",
	"pselect6",
	"sendmsg",
	"recvmsg",
	"sendto",
	"recvfrom",
	"getcwd",
	"membarrier",
	NULL,
};

/* Writes to descriptors that are open, also of files. */
static const char *const writing[] = {
	"write", "writev",    "pwrite64",  "pwritev", "ftruncate",
	"fsync", "fdatasync", "fallocate", NULL,
};

/* By path. Libraries try these and continue without. */
static const char *const by_path[] = {
	"open",     "openat",        "openat2",  "creat",     "readlink", "readlinkat", "unlink",
	"unlinkat", "rename",        "renameat", "renameat2", "mkdir",    "mkdirat",    "rmdir",
	"chmod",    "fchmod",        "fchmodat", "chown",     "fchown",   "fchownat",   "lchown",
	"link",     "linkat",        "symlink",  "symlinkat", "truncate", "utimensat",  "utimes",
	"statfs",   "inotify_init1", NULL,
};

/*
 * By path: what a process with a directory of its own needs. Modes, owners and times are not
 * changed: Landlock does not guard them, and files of root belong to a process of root even without
 * capabilities.
 */
static const char *const files[] = {
	"open",   "openat",   "readlink",  "readlinkat", "unlink",  "unlinkat",
	"rename", "renameat", "renameat2", "mkdir",      "mkdirat", "rmdir",
	"link",   "linkat",   "statfs",    "getdents64", "umask",   NULL,
};

/* Libraries try these and continue without. */
static const char *const attributes[] = {
	"chmod",     "fchmodat", "chown",     "fchown",   "fchownat", "lchown",
	"utimensat", "utimes",   "fsetxattr", "setxattr", NULL,
};

/* Calls that end the process even where other unexpected calls fail. */
static const char *const never[] = {
	"execve",      "execveat",    "ptrace",      "process_vm_writev",
	"mount",       "umount2",     "pivot_root",  "chroot",
	"setns",       "unshare",     "init_module", "finit_module",
	"kexec_load",  "setuid",      "setgid",      "setresuid",
	"setresgid",   "setreuid",    "setregid",    "io_uring_setup",
	"pidfd_getfd", "userfaultfd", NULL,
};

/* Sockets, and what libcurl, TLS libraries and libdebuginfod call besides. */
static const char *const network[] = {
	"connect",
	"getsockname",
	"getpeername",
	"getsockopt",
	"setsockopt",
	"shutdown",
	"sendmmsg",
	"recvmmsg",
	"socketpair",
	"bind",
	"pipe",
	"pipe2",
	"eventfd2",
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"fchdir",
	"flock",
	"mlock",
	"munlock",
	"getgroups",
	"fgetxattr",
	"getxattr",
	"copy_file_range",
	"sendfile",
	"sched_getparam",
	"sched_getscheduler",
	"get_mempolicy",
	NULL,
};

static const char *const server[] = { "listen", "accept4", NULL };

/* What threads, rings and timers need. */
static const char *const worker[] = {
	"epoll_create1",
	"epoll_ctl",
	"epoll_wait",
	"epoll_pwait",
	"epoll_pwait2",
	"eventfd2",
	"timerfd_create",
	"timerfd_settime",
	"timerfd_gettime",
	"signalfd4",
	"pipe2",
	"wait4",
	"waitid",
	"sched_setaffinity",
	"getpriority",
	"setpriority",
	"sched_getparam",
	"sched_getscheduler",
	NULL,
};

/*
 * Opens files, and new ones without a name (add_opening()). The flags of openat2() are in memory,
 * so that no filter can check them; nothing can be written to what it opens.
 */
static const char *const opener[] = {
	"openat2", "readlink", "readlinkat", "unlink", "unlinkat", "statfs", NULL,
};

static const char *const children[] = {
	"fork",
	"vfork",
	"kill",
	"socketpair",
	"prctl",
	"prlimit64",
	"setrlimit",
	"seccomp",
	"capget",
	"capset",
	"landlock_create_ruleset",
	"landlock_add_rule",
	"landlock_restrict_self",
	NULL,
};

/* A check for leaks at exit looks at /proc and stops all threads with ptrace(). */
static const char *const sanitizers[] = {
	"open",
	"openat",
	"readlink",
	"readlinkat",
	"getdents64",
	"clone",
	"ptrace",
	"wait4",
	"prctl",
	"personality",
	"process_vm_readv",
	"sched_getparam",
	"sched_getscheduler",
	"kill",
	"tgkill",
	"mprotect",
	"mmap",
	"prlimit64",
	"setrlimit",
	"ioctl",
	"pipe",
	"pipe2",
	NULL,
};

static int add_each(scmp_filter_ctx filter, uint32_t action, const char *const *names)
{
	int err = 0;

	for (; *names && !err; names++) {
		int number = seccomp_syscall_resolve_name(*names);

		if (number < 0)
			continue;
		err = seccomp_rule_add(filter, action, number, 0);
		/* The same action as an earlier rule, or as the default. */
		if (err == -EEXIST || err == -EACCES)
			err = 0;
	}
	return err;
}

/* Allows a call if argument `index` has one of the values. */
static int add_values(scmp_filter_ctx filter, int number, unsigned index, const uint64_t *values,
		      size_t count)
{
	int err = 0;

	for (size_t i = 0; i < count && !err; i++)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, number, 1,
				       SCMP_CMP(index, SCMP_CMP_EQ, values[i]));
	return err;
}

static int add_memory(scmp_filter_ctx filter, bool loads_libraries)
{
	static const int calls[] = { SCMP_SYS(mmap), SCMP_SYS(mprotect) };
	int err = 0;

	for (size_t i = 0; i < COUNT(calls) && !err; i++)
		err = loads_libraries
			      ? seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0)
			      : seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 1,
						 SCMP_CMP(2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
	return err;
}

static int add_common(scmp_filter_ctx filter)
{
	static const uint64_t controls[] = { F_DUPFD,      F_GETFD,      F_SETFD,
					     F_GETFL,      F_SETFL,      F_GETLK,
					     F_SETLK,      F_SETLKW,     F_OFD_GETLK,
					     F_OFD_SETLK,  F_OFD_SETLKW, F_DUPFD_CLOEXEC,
					     F_GETPIPE_SZ, F_GET_SEALS,  F_ADD_SEALS };
	/* PR_SET_VMA, by which newer C libraries name their memory, is not in older headers. */
	static const uint64_t process[] = { PR_SET_NAME, PR_GET_NAME, 0x53564d41 };
	const uint64_t own = (uint64_t)getpid();
	int err = add_each(filter, SCMP_ACT_ALLOW, common);

	if (!err)
		err = add_values(filter, SCMP_SYS(fcntl), 1, controls, COUNT(controls));
	if (!err)
		err = add_values(filter, SCMP_SYS(prctl), 0, process, COUNT(process));
	if (!err)
		err = add_values(filter, SCMP_SYS(tgkill), 0, &own, 1);
	/* Only to read limits. */
	if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2,
				       SCMP_A0(SCMP_CMP_EQ, 0), SCMP_A2(SCMP_CMP_EQ, 0));
	return err;
}

static int add_terminal(scmp_filter_ctx filter)
{
	/* TCGETS2, which newer C libraries use, is not in the headers of this one. */
	static const uint64_t controls[] = { TCGETS, 0x802c542a, TIOCGWINSZ, FIONREAD };

	return add_values(filter, SCMP_SYS(ioctl), 1, controls, COUNT(controls));
}

static int add_threads(scmp_filter_ctx filter)
{
	/* Its flags are in memory. The C library falls back to clone(). */
	static const char *const without_flags[] = { "clone3", NULL };
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));

	return err ? err : add_each(filter, SCMP_ACT_ERRNO(ENOSYS), without_flags);
}

/* The mode of a UNIX socket that is served, and no other. */
static int add_modes(scmp_filter_ctx filter)
{
	const scmp_datum_t mode = 0660;
	int err = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(fchmod), 1,
				   SCMP_A1(SCMP_CMP_EQ, mode));

	return err ? err
		   : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fchmod), 1,
				      SCMP_A1(SCMP_CMP_NE, mode));
}

/* Programs of root that listen on UNIX sockets take a process of root for an administrator. */
static int add_network(scmp_filter_ctx filter, enum guard_role role)
{
	static const uint64_t families[] = { AF_INET, AF_INET6, AF_NETLINK }, local = AF_UNIX;
	static const uint64_t controls[] = { FIONBIO, FIONREAD };
	int err = add_each(filter, SCMP_ACT_ALLOW, network);

	if (!err)
		err = add_values(filter, SCMP_SYS(socket), 0, families, COUNT(families));
	if (!err && role == GUARD_WORKER)
		err = add_values(filter, SCMP_SYS(socket), 0, &local, 1);
	else if (!err)
		err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, local));
	if (!err && role == GUARD_WORKER)
		err = add_each(filter, SCMP_ACT_ALLOW, server);
	if (!err)
		err = add_each(filter, SCMP_ACT_KILL_PROCESS, never);
	return err ? err : add_values(filter, SCMP_SYS(ioctl), 1, controls, COUNT(controls));
}

/* Of BPF, what needs no capability with descriptors that are open. */
static int add_bpf(scmp_filter_ctx filter)
{
	static const uint64_t commands[] = {
		BPF_MAP_LOOKUP_ELEM,
		BPF_MAP_UPDATE_ELEM,
		BPF_MAP_DELETE_ELEM,
		BPF_MAP_GET_NEXT_KEY,
		BPF_MAP_LOOKUP_AND_DELETE_ELEM,
		BPF_MAP_LOOKUP_BATCH,
		BPF_MAP_UPDATE_BATCH,
		BPF_MAP_LOOKUP_AND_DELETE_BATCH,
		BPF_MAP_DELETE_BATCH,
		BPF_OBJ_GET_INFO_BY_FD,
		BPF_ITER_CREATE,
	};
	static const uint64_t perf[] = { 0x2400, 0x2401 }; /* PERF_EVENT_IOC_ENABLE, _DISABLE */
	int err = add_values(filter, SCMP_SYS(bpf), 0, commands, COUNT(commands));

	return err ? err : add_values(filter, SCMP_SYS(ioctl), 1, perf, COUNT(perf));
}

/* New processes, without new namespaces, and what they call to give up more privileges. */
static int add_children(scmp_filter_ctx filter)
{
	const uint64_t spaces = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
				CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
	int err = add_each(filter, SCMP_ACT_ALLOW, children);

	return err ? err
		   : seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				      SCMP_A0(SCMP_CMP_MASKED_EQ, spaces, 0));
}

/* Only for reading, unless the file is new: another flag ends the process. */
static int add_opening(scmp_filter_ctx filter)
{
	const int calls[] = { SCMP_SYS(open), SCMP_SYS(openat) };
	static const uint64_t flags[][2] = { { O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY },
					     { O_TMPFILE, O_TMPFILE },
					     { O_CREAT | O_EXCL, O_CREAT | O_EXCL } };
	int err = add_each(filter, SCMP_ACT_ALLOW, opener);

	for (size_t i = 0; i < COUNT(flags) * COUNT(calls) && !err && !SANITIZED; i++)
		err = seccomp_rule_add(
			filter, SCMP_ACT_ALLOW, calls[i % 2], 1,
			SCMP_CMP(i % 2 + 1, SCMP_CMP_MASKED_EQ, flags[i / 2][0], flags[i / 2][1]));
	/* An assertion that fails wants to print its text. */
	return err ? err : add_each(filter, SCMP_ACT_ERRNO(EACCES), writing);
}

static int add_files(scmp_filter_ctx filter)
{
	int err = add_each(filter, SCMP_ACT_ALLOW, files);

	if (!err)
		err = add_each(filter, SCMP_ACT_ERRNO(EPERM), attributes);
	if (!err)
		err = add_modes(filter);
	return err ? err : add_threads(filter);
}

static int add_worker(scmp_filter_ctx filter, const struct guard_options *options)
{
	int err = add_each(filter, SCMP_ACT_ALLOW, worker);

	if (!err)
		err = add_terminal(filter);
	if (!err)
		err = add_bpf(filter);
	return err || !options->children ? err : add_children(filter);
}

static bool has_files(enum guard_role role)
{
	return role == GUARD_WORKER || role == GUARD_FETCHER;
}

static bool has_network(enum guard_role role, const struct guard_options *options)
{
	return role == GUARD_FETCHER || (role == GUARD_WORKER && options->network);
}

static int add_role(scmp_filter_ctx filter, enum guard_role role,
		    const struct guard_options *options)
{
	int err = add_common(filter);

	if (!err)
		err = add_memory(filter, has_files(role));
	if (!err && role == GUARD_READER)
		err = add_terminal(filter);
	if (!err)
		err = role == GUARD_OPENER ? add_opening(filter)
					   : add_each(filter, SCMP_ACT_ALLOW, writing);
	if (!err && role == GUARD_WORKER)
		err = add_worker(filter, options);
	if (!err && has_files(role))
		err = add_files(filter);
	if (!err && has_network(role, options))
		err = add_network(filter, role);
	if (!err && !SANITIZED && !has_files(role) && role != GUARD_OPENER)
		err = add_each(filter, SCMP_ACT_ERRNO(EACCES), by_path);
	return err;
}

int filter__install(enum guard_role role, const struct guard_options *options)
{
	scmp_filter_ctx filter = seccomp_init(has_network(role, options) ? SCMP_ACT_ERRNO(ENOSYS)
									 : SCMP_ACT_KILL_PROCESS);
	int err = filter ? 0 : -ENOMEM;

	if (!err)
		err = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!err && SANITIZED)
		err = add_each(filter, SCMP_ACT_ALLOW, sanitizers);
	if (!err)
		err = add_role(filter, role, options);
	if (!err)
		err = seccomp_load(filter);
	seccomp_release(filter);
	return err;
}
