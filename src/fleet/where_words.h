/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sentences about the account of a service: what held it up, the object, and who. Pure.
 *
 * What they may say is limited by what the account proves. Who ended a wait (evidence "waker") is
 * not said to have held anything; only "owner" is. A wait of the kind "undecided" is called
 * unclear, and the sentence says what would tell.
 */
#pragma once

#include "base/words.h"
#include "fleet/service_account.h"

#define WHERE_SENTENCES      6
#define WHERE_SENTENCE_BYTES 1024

struct where_sentence {
	char text[WHERE_SENTENCE_BYTES];
	char next[WHERE_SENTENCE_BYTES]; /* what to do to learn more; "": nothing */
};

struct where_words {
	struct where_sentence list[WHERE_SENTENCES];
	size_t count;
};

/* `has_stacks`: samples of this period are in the store. */
void where_words__say(const struct service_account *account, const struct period *period,
		      bool has_stacks, struct where_words *ret);

/* "waiting for the disk"; "wait.x" if the state is not known. */
struct words where_words__phrase(const struct service_cause *cause);
/* "ended by", "held by", …: how a culprit is known. "": there is none. */
const char *where_words__role(const char *evidence);
