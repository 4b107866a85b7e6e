/* What the model asks the recording. ?1 and ?2 are the cut's begin and end. */
#pragma once

extern const char sql__accounts[];     /* thread, state, ns, count, prorated ns */
extern const char sql__cut_accounts[]; /* the same */
extern const char sql__threads[];
extern const char sql__waits[];
extern const char sql__histograms[]; /* of, key, bucket, count, name */
extern const char sql__syscalls[];
