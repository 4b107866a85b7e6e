/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/limits.h"

#include <signal.h>
#include <stdbool.h>

static struct sigaction before;
static bool is_changed;

void limits__outlive(void)
{
	const struct sigaction ignored = { .sa_handler = SIG_IGN };

	is_changed = !sigaction(SIGXFSZ, &ignored, &before);
}

void limits__restore(void)
{
	if (is_changed)
		sigaction(SIGXFSZ, &before, NULL);
}
