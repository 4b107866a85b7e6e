#include "tui/bands.h"

#include <stdbool.h>
#include <string.h>

static const struct band_words words[BAND_COUNT] = {
	[BAND_USER] = { 'U', "USER", "run.user", "outside syscalls", BAND_GROUP_RUN },
	[BAND_KERNEL] = { 'K', "KERNEL", "run.kernel", "in the kernel for it", BAND_GROUP_RUN },
	[BAND_ANY] = { 'R', "CPU", "run.any", "on a CPU, user or kernel", BAND_GROUP_RUN },
	[BAND_READY] = { 'r', "READY", "ready", "could run, but has no CPU", BAND_GROUP_READY },
	[BAND_DISK] = { 'D', "DISK", "wait.disk", "files and disks", BAND_GROUP_DELAYING },
	[BAND_LOCK] = { 'L', "LOCK", "wait.lock", "a lock that a thread holds",
			BAND_GROUP_DELAYING },
	[BAND_NET] = { 'N', "NET", "wait.net", "data from or to a socket", BAND_GROUP_DELAYING },
	[BAND_PIPE] = { 'P', "PIPE", "wait.pipe", "a pipe's other end", BAND_GROUP_DELAYING },
	[BAND_CHILD] = { 'C', "CHILD", "wait.child", "a child process", BAND_GROUP_DELAYING },
	[BAND_FAULT] = { 'F', "FAULT", "wait.fault", "a page to come in", BAND_GROUP_DELAYING },
	[BAND_KERNEL_LOCK] = { 'X', "KLOCK", "wait.kernel", "a lock, memory or RCU",
			       BAND_GROUP_DELAYING },
	[BAND_STOPPED] = { 'S', "STOP", "wait.stopped", "stopped, traced or frozen",
			   BAND_GROUP_DELAYING },
	[BAND_OTHER] = { 'O', "OTHER", "wait.other", "another syscall", BAND_GROUP_DELAYING },
	[BAND_UNSEEN] = { '?', "UNSEEN", "unseen", "before it was first seen", BAND_GROUP_UNSEEN },
	[BAND_UNDECIDED] = { 'u', "FUTEX", "wait.lock", "a futex: condition or lock",
			     BAND_GROUP_UNDECIDED },
	[BAND_POLL] = { '.', "POLL", "wait.poll", "epoll, poll, select", BAND_GROUP_IDLE },
	[BAND_ACCEPT] = { '.', "ACCEPT", "wait.net", "the next connection", BAND_GROUP_IDLE },
	[BAND_SLEEP] = { '.', "SLEEP", "wait.sleep", "a time or a signal", BAND_GROUP_IDLE },
	[BAND_URING] = { '.', "URING", "wait.uring", "io_uring", BAND_GROUP_IDLE },
	[BAND_IDLE] = { '.', "IDLE", "wait.other", "without work", BAND_GROUP_IDLE },
};

const struct band_words *bands__words(enum band band)
{
	return &words[band];
}

static enum band_group group_of(const char *state, const char *kind)
{
	if (!strcmp(state, "run"))
		return BAND_GROUP_RUN;
	if (!strcmp(state, "ready"))
		return BAND_GROUP_READY;
	if (strcmp(state, "wait") || !kind)
		return BAND_GROUP_UNSEEN;
	if (!strcmp(kind, "idle"))
		return BAND_GROUP_IDLE;
	return strcmp(kind, "undecided") ? BAND_GROUP_DELAYING : BAND_GROUP_UNDECIDED;
}

/* For a cause that this file does not know yet. */
static enum band rest_of(enum band_group group)
{
	static const enum band rest[BAND_GROUPS] = {
		[BAND_GROUP_RUN] = BAND_ANY,
		[BAND_GROUP_READY] = BAND_READY,
		[BAND_GROUP_DELAYING] = BAND_OTHER,
		[BAND_GROUP_UNSEEN] = BAND_UNSEEN,
		[BAND_GROUP_UNDECIDED] = BAND_UNDECIDED,
		[BAND_GROUP_IDLE] = BAND_IDLE,
	};

	return rest[group];
}

enum band bands__of(const char *state, const char *cause, const char *kind)
{
	enum band_group group = group_of(state, kind);

	for (int i = 0; i < BAND_COUNT; i++) {
		const char *dot = strchr(words[i].name, '.');

		if (words[i].group == group && dot && !strcmp(dot + 1, cause))
			return (enum band)i;
	}
	return rest_of(group);
}

int64_t bands__sum(const int64_t ns[BAND_COUNT], enum band_group group)
{
	int64_t sum = 0;

	for (int i = 0; i < BAND_COUNT; i++)
		if (words[i].group == group)
			sum += ns[i];
	return sum;
}

static bool is_busy(int band)
{
	return words[band].group != BAND_GROUP_UNDECIDED && words[band].group != BAND_GROUP_IDLE;
}

int64_t bands__busy(const int64_t ns[BAND_COUNT])
{
	int64_t sum = 0;

	for (int i = 0; i < BAND_COUNT; i++)
		if (is_busy(i))
			sum += ns[i];
	return sum;
}

/*
 * Edges are rounded, not lengths: then cells neither lack nor overlap, and what is shorter than
 * half a cell is the first to go.
 */
void bands__compose(const int64_t ns[BAND_COUNT], int64_t one_ns, int width, uint8_t *ret)
{
	double busy = (double)bands__busy(ns), quiet = 0, whole = (double)one_ns, edge = 0, shrink;
	int at = 0;

	for (int i = 0; i < BAND_COUNT; i++)
		quiet += is_busy(i) ? 0 : (double)ns[i];
	if (busy > whole)
		whole = busy;
	/* A thread that came or went within the time leaves room; one too many does not get it. */
	shrink = quiet > whole - busy ? (whole - busy) / (quiet > 0 ? quiet : 1) : 1;
	for (int i = 0; i < BAND_COUNT && whole > 0; i++) {
		edge += (double)ns[i] * (is_busy(i) ? 1 : shrink);
		for (; at < width && at + 0.5 < edge * width / whole; at++)
			ret[at] = (uint8_t)i;
	}
	memset(ret + at, BAND_COUNT, (size_t)(width - at));
}
