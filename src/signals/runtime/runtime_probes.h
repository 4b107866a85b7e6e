/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes in runtimes. A file gets its probes when the first process with a runtime of it is
 * found, and keeps them until the end. A thread of its own looks for the places, because that
 * takes as long as a file is large. A probe that is hit too often is taken off.
 */
#pragma once

#include <bpf/libbpf.h>
#include <stdint.h>

#include "core/signal.h"

/* For core/signal.h. They log. */
void runtime_probes__take(const struct signal_runtime *runtime);
int runtime_probes__attach(struct bpf_object *object);
void runtime_probes__detach(void);
int runtime_probes__hold(const struct bpf_object *object);
uint64_t runtime_probes__left_out(void);
