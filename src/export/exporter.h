/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An output format of the export command: a name, and a function that writes it. */
#pragma once

#include <stdio.h>

#include "model/profile.h"

#include "export_list.h"

struct exporter {
	const char *name;   /* argument of -f */
	const char *about;  /* one line for --help */
	const char *suffix; /* of the default output file: ".pb.gz"; NULL: stdout */
	bool binary;        /* cannot be shown on a terminal */
	bool accounts;      /* needs profile.accounts */
	bool windows;       /* is about kept windows alone */
	bool no_idle;       /* idle waits would hide the rest: leave out by default */
	int (*write)(const struct profile *profile, FILE *out); /* 0 or -errno */
};

#define EXPORTER_DECLARE(name) extern const struct exporter export_##name;
EACH_EXPORTER(EXPORTER_DECLARE)

/* Those of src/export/list, up to a NULL. */
extern const struct exporter *const exporters[];
