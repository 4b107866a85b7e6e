/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of objects and processes, from the kernel half and from /proc as it is now. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"
#include "record/mapped.h"

/* Leaves `name` unchanged if no better name is found. */
void describe__object(struct mapped *mapped, const struct ledger_object_record *record, char *name,
		      size_t size);

/* The name of an object as long as nothing better is known. */
void describe__plainly(const struct ledger_key *key, char *name, size_t size);

/* "?" if there is no such thread. */
void describe__comm(uint32_t tid, char *comm, size_t size);
