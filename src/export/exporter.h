/* What a format is to the export command: a name, and a function that writes it. */
#pragma once

#include <stdio.h>

#include "model/profile.h"

#include "export_list.h"

struct exporter {
	const char *name;   /* as after -f */
	const char *about;  /* one line for --help */
	const char *suffix; /* of the file made if none is named: ".pb.gz"; NULL: to stdout */
	bool binary;        /* bytes that a terminal cannot show */
	bool accounts;      /* needs profile.accounts */
	bool no_idle;       /* waits by choice would drown the rest: left out unless wanted */
	int (*write)(const struct profile *profile, FILE *out); /* 0 or -errno */
};

#define EXPORTER_DECLARE(name) extern const struct exporter export_##name;
EACH_EXPORTER(EXPORTER_DECLARE)

/* Those of src/export/list, up to a NULL. */
extern const struct exporter *const exporters[];
