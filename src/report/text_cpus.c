/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Below the table of CPUs: who had them, and whether others were idle. */
#include <string.h>

#include "findings/cpus.h"
#include "report/printer.h"

#define PAIRS_SHOWN     8
#define PAIR_INDENT     20
#define PRESSURES_SHOWN 6
#define CGROUP_COLUMNS  60

/* "wrk while nginx was ready" */
static void print_pair(const struct printer *printer, const struct by_cpu_pair *pair)
{
	char text[PRINTER_LINE] = "", name[PRINTER_LINE];

	words__field(printer->out, words__brief_time(pair->ns).text, PRINTER_TIME);
	words__field(printer->out, words__share(pair->ns, pair->group->kind_ns[KIND_READY]).text,
		     PRINTER_SHARE);
	findings__name(pair->group, NULL, name, sizeof(name));
	words__say(text, sizeof(text), "%s: ", name);
	if (!pair->by)
		words__say(text, sizeof(text), "idle, or not known");
	else if (pair->by == pair->group)
		words__say(text, sizeof(text), "others of the same group");
	else {
		findings__name(pair->by, NULL, name, sizeof(name));
		words__say(text, sizeof(text), "%s", name);
	}
	fputs("  ", printer->out);
	printer__wrap(printer, text, PAIR_INDENT);
}

static void print_pairs(const struct printer *printer, const struct by_cpu *by_cpu)
{
	size_t count = printer__shown(printer, by_cpu->pair_count, PAIRS_SHOWN);

	if (!count)
		return;
	fprintf(printer->out, "%10s%8s  %s\n", "time", "share",
		"who was ready: who had the CPU meanwhile");
	for (size_t i = 0; i < count; i++)
		print_pair(printer, &by_cpu->pairs[i]);
	printer__rest(printer, by_cpu->pair_count - count, "pairs");
}

/* The cgroups with a quota: each once, although every process in it has a row. */
static void print_limits(const struct printer *printer)
{
	const struct model *model = printer->model;

	for (size_t i = 0; i < model->limit_count; i++) {
		const struct model_limit *limit = &model->limits[i];
		char text[PRINTER_LINE] = "";
		bool is_new = !strcmp(limit->kind, "cpu");

		for (size_t j = 0; j < i && is_new; j++)
			is_new = strcmp(model->limits[j].kind, "cpu") ||
				 strcmp(model->limits[j].cgroup, limit->cgroup);
		if (!is_new)
			continue;
		words__say(text, sizeof(text), "cgroup %s: quota %s, ",
			   words__clean(limit->cgroup, CGROUP_COLUMNS).text,
			   words__clean(limit->value, CGROUP_COLUMNS).text);
		if (limit->throttled_ns < 0)
			words__say(text, sizeof(text), "throttled for an unknown time");
		else
			words__say(text, sizeof(text), "throttled for %s by its own count",
				   words__time(limit->throttled_ns).text);
		printer__wrap(printer, text, 0);
	}
}

/* Bare figures, where no sentence is due. */
static void print_totals(const struct printer *printer, const struct by_cpu *by_cpu)
{
	int64_t steal_ns = 0, confined_ns = 0;
	char text[PRINTER_LINE] = "";

	for (size_t i = 0; i < by_cpu->line_count; i++) {
		steal_ns += by_cpu->lines[i].steal_ns;
		confined_ns += by_cpu->lines[i].confined_ns;
	}
	if (steal_ns)
		words__say(text, sizeof(text), "the hypervisor took %s from the CPUs; ",
			   words__time(steal_ns).text);
	if (confined_ns)
		words__say(text, sizeof(text),
			   "of %s of the ready time it is not known whether another CPU was of"
			   " use: these threads may use some CPUs, but not all; ",
			   words__time(confined_ns).text);
	if (!*text)
		return;
	text[strlen(text) - 2] = '\0';
	printer__wrap(printer, text, 0);
}

/* The cgroups in which threads lacked something, or that none of them is known. */
static void print_pressures(const struct printer *printer)
{
	const struct model *model = printer->model;
	size_t count = printer__shown(printer, model->pressure_count, PRESSURES_SHOWN);

	if (model->has_pressures && model->complete && !count)
		printer__wrap(printer,
			      "pressure (PSI) is not known: the target has no cgroup of version 2,"
			      " or the kernel does not measure it [CONFIG_PSI, psi=1]",
			      0);
	for (size_t i = 0; i < count; i++) {
		const struct model_pressure *pressure = &model->pressures[i];
		char text[PRINTER_LINE] = "";

		words__say(text, sizeof(text), "cgroup %s: pressure on %s, some %s (%s), ",
			   words__clean(pressure->cgroup, CGROUP_COLUMNS).text,
			   words__clean(pressure->kind, 16).text,
			   words__share(pressure->some_ns, pressure->of_ns).text,
			   words__time(pressure->some_ns).text);
		words__say(text, sizeof(text), "full %s (%s)",
			   words__share(pressure->full_ns, pressure->of_ns).text,
			   words__time(pressure->full_ns).text);
		printer__wrap(printer, text, 0);
	}
	printer__rest(printer, model->pressure_count - count, "pressures");
}

void printer__cpus(const struct printer *printer)
{
	const struct model *model = printer->model;
	char text[PRINTER_LINE] = "";
	struct by_cpu by_cpu;

	if (printer->options->model.by != MODEL_BY_CPU || by_cpu__find(model, NULL, &by_cpu))
		return;
	cpus__say_spare(&by_cpu, text, sizeof(text));
	if (*text)
		printer__wrap(printer, text, 0);
	*text = '\0';
	cpus__say_imbalance(&by_cpu, model->wall_ns, text, sizeof(text));
	if (*text)
		printer__wrap(printer, text, 0);
	print_totals(printer, &by_cpu);
	print_pairs(printer, &by_cpu);
	print_limits(printer);
	print_pressures(printer);
	by_cpu__release(&by_cpu);
}
