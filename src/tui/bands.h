/*
 * What a thread's time is split into on the screen: the states of the ledger, each with a letter,
 * so that a bar can be read without colour. Pure: no terminal, no recording.
 */
#pragma once

#include <stdint.h>

enum band {
	BAND_USER,
	BAND_KERNEL,
	BAND_ANY,
	BAND_READY,
	BAND_DISK,
	BAND_LOCK,
	BAND_NET,
	BAND_PIPE,
	BAND_CHILD,
	BAND_FAULT,
	BAND_KERNEL_LOCK,
	BAND_STOPPED,
	BAND_OTHER,
	BAND_UNSEEN,
	BAND_UNDECIDED,
	BAND_POLL,
	BAND_ACCEPT,
	BAND_SLEEP,
	BAND_URING,
	BAND_IDLE,
	BAND_COUNT
};

/* What a band is to its thread, as the report has it. */
enum band_group {
	BAND_GROUP_RUN,
	BAND_GROUP_READY,
	BAND_GROUP_DELAYING,
	BAND_GROUP_UNSEEN,
	BAND_GROUP_UNDECIDED,
	BAND_GROUP_IDLE,
	BAND_GROUPS
};

struct band_words {
	char letter;
	const char *title; /* of a column, at most 6 characters */
	const char *name;  /* as the recording says it: "wait.disk" */
	const char *about;
	enum band_group group;
};

const struct band_words *bands__words(enum band band);

/* The band of a state, by the words that a recording has for it; `kind` may be NULL. */
enum band bands__of(const char *state, const char *cause, const char *kind);

int64_t bands__sum(const int64_t ns[BAND_COUNT], enum band_group group);
/* All but idle and undecided. */
int64_t bands__busy(const int64_t ns[BAND_COUNT]);

/*
 * A bar of `width` cells: which band each one shows. The whole bar is one thread's time, `one_ns`,
 * or all that is busy if that is more. What is undecided and idle shares the room that is left, so
 * that a hundred threads that sleep do not hide the one that works.
 */
void bands__compose(const int64_t ns[BAND_COUNT], int64_t one_ns, int width, uint8_t *ret);
