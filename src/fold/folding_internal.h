/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the files of this folder. */
#pragma once

#include "base/map.h"
#include "fold/folding.h"

/* Finished waits that are not booked yet. */
struct finished {
	struct finished *next;
	struct ledger_key key;
	struct ledger_sum sum;
};

/* Finished waits in a thread's cell, as a record had them; see kernel/waits.bpf.h. */
struct cell {
	struct ledger_key key;
	struct ledger_sum sum;
	uint32_t number;
};

/* A thread that had the CPU while another was ready. */
struct occupied {
	struct occupied *next;
	uint64_t by;
	uint64_t ns;
};

struct folded_process {
	uint64_t key; /* in the map of processes */
	size_t threads;
	struct folding_process process;
	char name[WIRE_COMM_BYTES];
};

/* What is booked of a thread in one state. */
struct booked {
	uint64_t ns;
	/* Waiting time that was booked before its waits had ended, see folding_waits.c. */
	uint64_t ahead_ns;
	uint32_t count;
	int32_t slot;
};

/* What a wait is for. */
struct waited_for {
	uint64_t object[2];
	uint8_t kind;
};

/* There may be tens of thousands of them, so keep it small. */
struct folded_thread {
	uint64_t id;
	uint64_t workload;
	const char *group;
	struct folded_process *process;
	uint64_t cgroup_id;
	uint64_t last_ns;     /* its time is booked up to here */
	uint64_t recorded_ns; /* time of its last record */
	uint64_t unexplained_ns;
	uint64_t seen;         /* number of the last whole snapshot with it */
	struct booked *booked; /* in the states that it has been in */
	uint32_t booked_count;
	uint32_t slot; /* the open one */
	bool is_done;  /* its record of this step was booked */
	bool has_ended;
	char comm[WIRE_COMM_BYTES];
	struct ledger_key open;      /* the open wait */
	struct waited_for last_open; /* at the last record: ahead_ns was booked for it */
	struct finished *finished;
	struct occupied *occupied;
	/* The part of its cell that was taken from a record and will come once more as a sum. */
	struct cell taken;
	/* One before it that will come with the next sums, because it went into the map late. */
	struct cell *owed; /* NULL: none */
};

/* A row without a culprit, because the culprit's record may come later in the same step. */
struct unnamed {
	struct bucket_key key;
	struct ledger_key wait;
	uint64_t ns, count;
};

/* A thread's last record, until the next step. */
struct last_record {
	struct last_record *next;
	struct ledger_record record;
};

/* Syscalls, see folding_calls.c. */
struct folded_calls {
	struct folding_call *taken; /* by thread */
	size_t taken_count;
	struct folding_call *rows; /* by workload */
	size_t count;
	struct map places; /* of rows */
};

struct folding {
	struct folding_options options;
	struct lexicon *words;
	struct map threads;   /* by id */
	struct map processes; /* by pid and start time */
	struct map devices;   /* by number: its word */
	struct last_record *ended, **ended_end;
	size_t ended_count;
	struct unnamed *unnamed;
	size_t unnamed_count;
	struct folded_calls calls;
	uint64_t wholes; /* whole snapshots so far */
	uint64_t began_ns;
	uint64_t drained_ns; /* sums of waits that ended before are here */
	bool is_whole;
	struct bucket *step; /* between folding__begin() and folding__end() */
	struct folding_quality quality;
};

/* The thread with this id, made if it is new. -ENOMEM. */
int folding__thread(struct folding *folding, uint64_t id, struct folded_thread **ret);

/* The thread of a record, with its process, group and workload as they are now. -ENOMEM. */
int folding_who__find(struct folding *folding, const struct ledger_record *record,
		      struct folded_thread **ret);
/* One thread less; the process is freed with the last one. */
void folding_who__leave(struct folding *folding, struct folded_process *process);

/* Books `ns` of ready time: as the threads that had the CPU, and the rest without a name. */
int folding_ready__book(struct folding *folding, struct folded_thread *thread,
			const struct bucket_key *key, uint64_t ns, uint64_t count);
void folding_ready__release(struct folded_thread *thread);

/* Adds to the row of the key, with the culprit of the wait if it has one. */
int folding_culprits__add(struct folding *folding, struct bucket_key *key,
			  const struct ledger_key *wait, uint64_t ns, uint64_t count);
/* Names the culprits whose records came later. */
int folding_culprits__name_late(struct folding *folding);

/*
 * Books `ns` of waiting in a state: as the waits that ended, and the rest as the wait that is still
 * open.
 */
int folding_waits__book(struct folding *folding, struct folded_thread *thread,
			struct booked *booked, uint64_t ns, uint64_t count);
/* Takes the finished waits in the thread's cell. */
int folding_waits__take_cell(struct folded_thread *thread, const struct ledger_record *record);
/*
 * After a record was booked: time that is still ahead belongs to the open wait, or to one that
 * ended after the sums were taken. More than that belongs to waits whose sums were lost.
 */
void folding_waits__settle(const struct folding *folding, struct folded_thread *thread,
			   const struct ledger_record *record);
void folding_waits__release(struct folded_thread *thread);

/* Books the calls that were taken, while the threads of the step are known. */
int folding_calls__book(struct folding *folding);
void folding_calls__release(struct folding *folding);
