/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For pods_reader.c alone. */
#pragma once

#include <jansson.h>

struct pods;

int pods__new(struct pods **ret);
/* Adds a pod from its JSON object; one that cannot be used is counted as skipped. -ENOMEM. */
int pods__add(struct pods *pods, const json_t *object, const char *const *labels);
void pods__skip(struct pods *pods);
