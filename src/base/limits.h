/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file size limit of this process. */
#pragma once

/*
 * From now on, writing beyond `ulimit -f` fails with EFBIG, like a full disk, and does not end the
 * program.
 */
void limits__outlive(void);
/* Restores the previous behaviour, for a program that is executed next. */
void limits__restore(void);
