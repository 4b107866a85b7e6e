/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What finds runtimes, shared by runtimes*.c. `lock` is held for all of these functions. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/map.h"
#include "runtimes/framer.h"
#include "runtimes/language.h"
#include "runtimes/runtimes.h"

/* A file that was looked at. Without a runtime, only its identity is kept. */
struct file {
	struct stat stat;
	uint32_t key;
	enum runtime_kind kind;
	int fd; /* -1: has no runtime */
	char *path;
	bool is_told; /* the helper knows it */
};

struct process {
	uint32_t pid;
	uint64_t start_ticks, begin, bias;
	int memory_fd, maps_fd; /* or -errno */
	const struct file *file;
	struct framer_opened opened;
	enum runtime_state state;
	bool is_told;
	unsigned rough;              /* how often to ask again for more; 0: all is known */
	uint64_t retry_ns, pause_ns; /* RUNTIME_NOT_STARTED or `rough`: when to look again */
	unsigned failures;           /* how often the helper did not answer */
	uint64_t rests_ns;           /* until then nothing is asked of it */
};

/* What the thread has to do. */
struct task {
	struct runtimes_mapping mapping; /* fd −1: the process is gone */
	char *path;
	unsigned tries;
};

struct runtimes {
	struct runtimes_options options;
	pthread_t thread;
	bool has_thread;

	pthread_mutex_t queue_lock; /* protects these */
	pthread_cond_t changed;
	struct task *queue;
	size_t queued, first; /* of `queued`, those before `first` are done */
	size_t files_queued;
	uint64_t dropped;
	bool is_working; /* on a task that is no longer in the queue */
	bool stopping;

	pthread_mutex_t lock; /* protects these; may be held for as long as the helper works */
	struct framer *framer;
	struct map files;     /* by hash of the identity */
	struct map processes; /* by pid */
	uint32_t last_file;
	struct runtimes_quality quality;
};

/* A file that a process has mapped. -EAGAIN: it could not be looked at now, ask again. */
int runtimes__look_at(struct runtimes *runtimes, struct task *task);
void runtimes__forget(struct runtimes *runtimes, uint32_t pid);
/* Opens the runtimes that may have started since. The time at which to look again. */
uint64_t runtimes__retry(struct runtimes *runtimes);

/* Makes sure that the helper process knows the process and the file with its runtime. */
int runtimes__tell(struct runtimes *runtimes, struct process *process);
/* Whether the memory still belongs to the program: an exec gives the process another one. */
bool runtimes__is_there(const struct process *process);
/*
 * The helper has not answered a question about the process. That takes seconds of CPU time, so the
 * process is left alone for a while, longer each time.
 */
void runtimes__failed(struct runtimes *runtimes, struct process *process, int err);
bool runtimes__rests(const struct process *process);

/* Frees all files and processes. */
void runtimes__release(struct runtimes *runtimes);
