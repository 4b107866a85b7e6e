/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The namer's second process. The first one, "gapless-names", parses files and has no privileges.
 * The second one, "gapless-files", has those of gapless and opens files for it (broker.h). It is a
 * process of its own because open() blocks forever if a file system does not respond.
 */
#pragma once

#include "base/helper.h"

/* In the process that parses: gives up all privileges. */
int confine__enter(void);

/* The process that opens files. */
int confine__new(struct helper **ret);
/* Asks it. A descriptor or -errno; -ETIMEDOUT: a file system does not respond. */
int confine__provide(struct helper *opener, const struct helper_parcel *request);
