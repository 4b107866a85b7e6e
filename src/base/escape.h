/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Escapes texts of a profile for output formats. The texts are already UTF-8 without control
 * characters.
 */
#pragma once

#include <stdio.h>

/* Adds quotation marks. */
void escape__json(FILE *out, const char *text);
/* For text nodes and attributes. */
void escape__xml(FILE *out, const char *text);
