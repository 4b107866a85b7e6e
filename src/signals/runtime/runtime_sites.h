/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a runtime tells what it does: declared probes where it has them, otherwise functions by
 * name. Nothing here logs. For use by one thread at a time.
 */
#pragma once

#include "core/runtime_probes.h"
#include "signals/runtime/runtime.h"

/* For struct runtime_probes_options; a site is a struct runtime_site. */
int runtime_sites__find(struct finder *finder, enum runtime_kind kind,
			const struct uprobe_file *file, struct runtime_places *ret);
