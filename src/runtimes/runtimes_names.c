/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is asked of processes whose runtime is known: names, fibers, allocation. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtimes/runtimes_internal.h"

/* Frames in one question. */
#define MOST_FRAMES 256

struct taking {
	runtimes_take_fn take;
	void *context;
	size_t first; /* frame of this question */
	int err;      /* of `take`; all others are of the helper */
};

static int take_one(void *context, size_t index, const struct symbol_chain *chain)
{
	struct taking *taking = context;

	taking->err = taking->take(taking->context, taking->first + index, chain);
	return taking->err;
}

int runtimes__name(struct runtimes *runtimes, uint32_t pid, const struct runtime_frame *frames,
		   size_t count, runtimes_take_fn take, void *context)
{
	struct taking taking = { .take = take, .context = context };
	struct process *process;
	bool is_known = false;
	int err = 0;

	pthread_mutex_lock(&runtimes->lock);
	process = map__get(&runtimes->processes, pid);
	if (process && process->state == RUNTIME_KNOWN && !runtimes__rests(process)) {
		err = runtimes__tell(runtimes, process);
		is_known = !err;
	}
	if (!is_known)
		runtimes->quality.names_late += count;
	for (; is_known && taking.first < count; taking.first += MOST_FRAMES) {
		size_t some = count - taking.first;

		err = framer__name(runtimes->framer, pid, frames + taking.first,
				   some < MOST_FRAMES ? some : MOST_FRAMES, take_one, &taking,
				   &runtimes->quality.names_late);
		if (!err)
			continue;
		runtimes->quality.names_late += count - taking.first;
		break;
	}
	/* The helper was given up: a hostile process costs its own names. */
	if (err && !taking.err)
		runtimes__failed(runtimes, process, err);
	pthread_mutex_unlock(&runtimes->lock);
	return taking.err;
}

struct class_name {
	char *to;
	size_t size;
};

static int take_class(void *context, size_t index, const struct symbol_chain *chain)
{
	const struct class_name *name = context;

	snprintf(name->to, name->size, "%s", chain->frames[0].name);
	return 0;
}

int runtimes__class(struct runtimes *runtimes, uint32_t pid, uint64_t address, char *to,
		    size_t size)
{
	const struct runtime_frame frame = { .object = address, .cookie = RUNTIME_CLASS_COOKIE };
	struct class_name name = { to, size };
	int err;

	to[0] = '\0';
	err = runtimes__name(runtimes, pid, &frame, 1, take_class, &name);
	return err ? err : *to ? 0 : -ENOENT;
}

/* What is asked of each process of a kind: one of the two is not NULL. */
struct asking {
	runtimes_fibers_fn take_fibers;
	runtimes_allocated_fn take_allocated;
	void *context;
	int err; /* of the one that takes; all others are of the helper */
};

static bool is_asked(const struct asking *asking, const struct process *process)
{
	const struct language *language = language__of(process->file->kind);

	return process->state == RUNTIME_KNOWN && !runtimes__rests(process) &&
	       (asking->take_fibers ? language->read_fibers != NULL
				    : language->read_allocated != NULL);
}

static int ask_fibers(struct runtimes *runtimes, const struct process *process,
		      struct asking *asking)
{
	struct runtime_fibers fibers = {};
	int err = framer__fibers(runtimes->framer, process->pid, &fibers);

	if (!err)
		asking->err = asking->take_fibers(asking->context, process->pid,
						  process->start_ticks, &fibers);
	free(fibers.list);
	return err;
}

static int ask_allocated(struct runtimes *runtimes, const struct process *process,
			 struct asking *asking)
{
	struct runtime_allocated allocated = {};
	int err = framer__allocated(runtimes->framer, process->pid, &allocated);

	if (!err && allocated.count)
		asking->err = asking->take_allocated(asking->context, process->pid,
						     process->start_ticks, &allocated);
	free(allocated.list);
	return err;
}

static int ask_each(struct runtimes *runtimes, struct asking *asking)
{
	struct process *process;
	size_t at = 0;

	pthread_mutex_lock(&runtimes->lock);
	while (!asking->err && (process = map__next(&runtimes->processes, &at))) {
		int err;

		if (!is_asked(asking, process))
			continue;
		err = runtimes__tell(runtimes, process);
		if (!err)
			err = asking->take_fibers ? ask_fibers(runtimes, process, asking)
						  : ask_allocated(runtimes, process, asking);
		/* A hostile process costs only what is known of itself. */
		if (err && runtimes__is_there(process))
			runtimes__failed(runtimes, process, err);
	}
	pthread_mutex_unlock(&runtimes->lock);
	return asking->err;
}

int runtimes__read_fibers(struct runtimes *runtimes, runtimes_fibers_fn take, void *context)
{
	return ask_each(runtimes, &(struct asking) { .take_fibers = take, .context = context });
}

int runtimes__read_allocated(struct runtimes *runtimes, runtimes_allocated_fn take, void *context)
{
	return ask_each(runtimes, &(struct asking) { .take_allocated = take, .context = context });
}
