/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Storms: a program that starts many processes which live only briefly. */
#pragma once

#include "findings/answers.h"

/* Adds an answer for each storm. -ENOMEM. */
int storm__offer(const struct analysis *analysis, struct answers *answers);
