/* What a format is to the export command: a name, and a function that writes it. */
#pragma once

#include <stdio.h>

#include "model/profile.h"

struct exporter {
	const char *name;   /* as after -f */
	const char *about;  /* one line for --help */
	const char *suffix; /* of the file made if none is named: ".pb.gz"; NULL: to stdout */
	bool binary;        /* bytes that a terminal cannot show */
	bool accounts;      /* needs profile.accounts */
	bool no_idle;       /* waits by choice would drown the rest: left out unless wanted */
	int (*write)(const struct profile *profile, FILE *out); /* 0 or -errno */
};

extern const struct exporter export_folded, export_pprof, export_speedscope, export_svg;
extern const struct exporter export_firefox, export_perfetto, export_chrome;

/* All of them, up to a NULL. */
extern const struct exporter *const exporters[];
