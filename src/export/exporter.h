/* An output format of the export command: a name, and a function that writes it. */
#pragma once

#include <stdio.h>

#include "model/profile.h"

struct exporter {
	const char *name;   /* argument of -f */
	const char *about;  /* one line for --help */
	const char *suffix; /* of the default output file: ".pb.gz"; NULL: stdout */
	bool binary;        /* cannot be shown on a terminal */
	bool accounts;      /* needs profile.accounts */
	bool no_idle;       /* idle waits would hide the rest: leave out by default */
	int (*write)(const struct profile *profile, FILE *out); /* 0 or -errno */
};

extern const struct exporter export_folded, export_pprof, export_speedscope, export_svg;
extern const struct exporter export_firefox, export_perfetto, export_chrome;

/* All formats, NULL-terminated. */
extern const struct exporter *const exporters[];
