/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The arguments of --event and --pair: their form, not whether there are such events. */
#pragma once

#include <stddef.h>

#define EVENT_WORDS_BYTES 64

#define EVENT_WORDS_SPEC 256

enum event_words_kind { EVENT_WORDS_TRACEPOINT, EVENT_WORDS_FUNCTION, EVENT_WORDS_USDT };

struct event_words_point {
	enum event_words_kind kind;
	char group[EVENT_WORDS_BYTES]; /* of a tracepoint */
	char name[EVENT_WORDS_BYTES];
	char spec[EVENT_WORDS_SPEC]; /* of others, as --function or --usdt has it */
};

/* GROUP:NAME[,key=FIELD][,value=FIELD] */
struct event_words {
	struct event_words_point point;
	char key[EVENT_WORDS_BYTES], value[EVENT_WORDS_BYTES]; /* "": none */
};

/* A -> B by thread|FIELD|FIELD=FIELD; A and B are [event:]GROUP:NAME, function:SPEC, usdt:SPEC */
struct event_words_pair {
	struct event_words_point points[2];
	char fields[2][EVENT_WORDS_BYTES]; /* "": the thread */
};

/* -EINVAL: *ret_why says what is wrong, in a constant text. */
int event_words__parse(const char *text, struct event_words *ret, const char **ret_why);
int event_words__parse_pair(const char *text, struct event_words_pair *ret, const char **ret_why);
