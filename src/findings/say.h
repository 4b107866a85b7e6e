/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of sentences. All functions append to finding->text, with cleaned names. */
#pragma once

#include "findings/answers.h"
#include "findings/findings.h"

#define SAY_NAME_COLUMNS   44
#define SAY_OBJECT_COLUMNS 100

#define say(finding, ...) words__say((finding)->text, sizeof((finding)->text), __VA_ARGS__)

/* "8 threads worker-* of app", "redis-server (tid 4242)"; `thread` NULL: all of the group. */
void say__who(struct finding *finding, const struct model_group *group, size_t threads,
	      const struct model_thread *thread);
/* The same in the middle of a sentence, without number or tid: "worker-* of app". */
void say__group(struct finding *finding, const struct model_group *group);
/* A function without its arguments. */
void say__function(struct finding *finding, const struct analysis *analysis, uint32_t function);
/* The other end of a connection: "10.0.0.1:5432", "redis-server (pid 712), on a UNIX socket". */
void say__peer(struct finding *finding, const char *peer);
/* Notes the process of a group as a culprit that the sentence names. */
void say__blame(struct finding *finding, const struct model_group *group);
/*
 * Sets finding->next to the command that records this signal too, with `options`, unless the
 * recording has the signal or the finding has a command.
 */
void say__next(struct finding *finding, const struct model *model, const char *signal,
	       const char *options);
/* " /app (64 MiB)": the cgroup that limits the memory of a group, if it is known. */
void say__memory_limit(struct finding *finding, const struct analysis *analysis,
		       const struct model_group *group);
/* "; sh and make waited 3.2 s for that". */
void say__waiters(struct finding *finding, const struct answer *answer);

/* " for an answer from 10.0.0.1:5432", and why that took so long, as far as the network knows. */
void say_network__put(struct finding *finding, const struct analysis *analysis,
		      const struct cause *cause);

/*
 * "; its requests there took 97 % of the time of the 128 requests that it served": for a wait for
 * an answer from `peer`.
 */
void say_served__put(struct finding *finding, const struct model *model,
		     const struct model_group *group, const char *peer);

/* Sentences on one answer each. */
void say_wait__put(struct finding *finding, struct analysis *analysis, const struct answer *answer);
void say_cpu__put(struct finding *finding, struct analysis *analysis, const struct answer *answer);
