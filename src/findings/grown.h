/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A program whose memory grows. */
#pragma once

#include "findings/say.h"

/* Says who grew most, and in which code. False: nobody grew enough to be mentioned. */
bool grown__put(struct finding *finding, struct analysis *analysis);
