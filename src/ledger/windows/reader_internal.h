/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For the reader of the ledger. */
#pragma once

struct ledger;
struct ledger_options;

/* Before the load. */
int ledger_windows__set_knobs(struct ledger *ledger, const struct ledger_options *options);
/* After it. */
int ledger_windows__attach(struct ledger *ledger);
