/* What objects and processes are called, by what the kernel half and /proc say of them now. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

/* Leaves `name` as it is if there is nothing better. */
void describe__object(const struct ledger_object_record *record, char *name, size_t size);

/* "?" if there is no such thread. */
void describe__comm(uint32_t tid, char *comm, size_t size);
