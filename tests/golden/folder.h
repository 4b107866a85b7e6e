/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gapless as a user calls it, in a folder of each test's own that has the recording with stacks as
 * run.gapless, and nothing else before and after.
 */
#pragma once

#include "../harness.h"

int folder__make(void **state);
int folder__remove(void **state);
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder__make, folder__remove)

/*
 * The status of a shell's line in which $G is gapless. Its output, standard error included, stays
 * until the next one. `prepare` is called before the shell is; or NULL.
 */
int folder__status(const char *line, void (*prepare)(void), const char **ret_text);
/* Fails the test if that is not what a line says, and its status. */
void folder__says(const char *line, int status, const char *expected);
