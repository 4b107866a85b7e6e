/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libbpf loads all programs of an object or none, so one program that this kernel refuses would
 * prevent all others. Therefore the programs are chosen before the load, by asking features.h
 * whether the kind of each works.
 */
#include "core/loader.h"

#include <bpf/bpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

#define KEPT_BYTES (256 * 1024)

static char kept[KEPT_BYTES];
static size_t kept_length;
static char last_warning[512];

static void remember_warning(const char *line)
{
	if (!strncmp(line, "libbpf: ", 8))
		line += 8;
	snprintf(last_warning, sizeof(last_warning), "%.*s", (int)strcspn(line, "\n"), line);
}

__attribute__((format(printf, 2, 0))) static int keep(enum libbpf_print_level level,
						      const char *format, va_list args)
{
	size_t room = sizeof(kept) - kept_length;
	char *line = kept + kept_length;
	int length;

	length = vsnprintf(line, room, format, args);
	if (length < 0)
		return length;
	if (level == LIBBPF_WARN)
		remember_warning(line);
	if (level != LIBBPF_DEBUG)
		log_debug("%.*s", (int)strcspn(line, "\n"), line);
	/*
	 * Keep only warnings, which include the verifier's log. If there is no room, keep the
	 * oldest.
	 */
	if (level == LIBBPF_WARN)
		kept_length += (size_t)length < room ? (size_t)length : room - 1;
	return length;
}

void loader__capture_log(void)
{
	libbpf_set_print(keep);
}

void loader__forget(void)
{
	kept_length = 0;
	kept[0] = '\0';
	last_warning[0] = '\0';
}

void loader__replay(void)
{
	fwrite(kept, 1, kept_length, stderr);
}

const char *loader__last_warning(void)
{
	return last_warning;
}

/* "sched_switch" of the section "tp_btf/sched_switch". */
static const char *event_of(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program), *slash = strrchr(section, '/');

	return slash ? slash + 1 : section;
}

/*
 * Why a program cannot serve its hook; NULL if it can. Alternatives may have other events than the
 * first one has: kernels rename them.
 */
static const char *obstacle(const struct bpf_program *program, enum hook_kind kind,
			    struct features *features)
{
	if (!features__has(features, hooks__feature(kind)))
		return features__get(features, hooks__feature(kind))->why;
	if ((kind == HOOK_TP_BTF || kind == HOOK_RAW_TP) &&
	    !features__has_event(features, event_of(program)))
		return "this kernel has no such event";
	return NULL;
}

/* `written`: the length of why_not so far. */
static size_t add_why_not(struct hook_use *use, size_t written, const char *kind, const char *why)
{
	size_t room = sizeof(use->why_not) - written;
	int length =
		snprintf(use->why_not + written, room, "%s%s: %s", written ? "; " : "", kind, why);

	return length > 0 && (size_t)length < room ? written + (size_t)length : written;
}

/* A kind that is withheld (features.h) is used only if no other program works. */
static void choose_one(struct bpf_object *object, const struct hook *hook,
		       struct features *features, struct hook_use *use)
{
	struct bpf_program *chosen = NULL;
	bool is_last_resort = false;
	size_t written = 0;

	*use = (struct hook_use) { .event = hook->event, .flags = hook->flags };
	for (size_t i = 0; i < HOOK_ALTERNATIVES && hook->programs[i]; i++) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(object, hook->programs[i]);
		enum hook_kind kind = program ? hooks__kind(program) : HOOK_UNKNOWN;
		const char *why;

		if (kind == HOOK_UNKNOWN)
			continue;
		bpf_program__set_autoload(program, false);
		if (chosen && !is_last_resort)
			continue;
		why = obstacle(program, kind, features);
		if (why) {
			written = add_why_not(use, written, hooks__kind_name(kind), why);
			continue;
		}
		if (chosen && features__is_withheld(hooks__feature(kind)))
			continue;
		is_last_resort = features__is_withheld(hooks__feature(kind));
		chosen = program;
		use->program = hook->programs[i];
		use->kind = hooks__kind_name(kind);
	}
	if (chosen)
		bpf_program__set_autoload(chosen, true);
}

int loader__choose(struct bpf_object *object, const struct hook *hooks, struct features *features,
		   struct hook_use *ret)
{
	int served = 0;

	for (size_t i = 0; hooks[i].event; i++) {
		choose_one(object, &hooks[i], features, &ret[i]);
		served += ret[i].program != NULL;
	}
	return served;
}

static bool get_info(const struct bpf_program *program, struct bpf_prog_info *ret)
{
	uint32_t size = sizeof(*ret);

	*ret = (struct bpf_prog_info) {};
	return program && bpf_program__fd(program) >= 0 &&
	       !bpf_obj_get_info_by_fd(bpf_program__fd(program), ret, &size);
}

static bool is_at_syscalls(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return strstr(section, "/sys_enter") || strstr(section, "/sys_exit");
}

static bool is_at_switches(const struct bpf_program *program)
{
	const char *section = bpf_program__section_name(program);

	return strstr(section, "/sched_switch") || strstr(section, "/sched_wak");
}

static bool is_iterator(const struct bpf_program *program)
{
	return !strncmp(bpf_program__section_name(program), "iter", 4);
}

void loader__add_runs(const struct bpf_object *object, struct loader_runs *to)
{
	struct bpf_program *program;
	struct bpf_prog_info info;

	bpf_object__for_each_program (program, object) {
		/* An iterator runs for gapless alone, and is in its own CPU time. */
		if (!get_info(program, &info) || is_iterator(program))
			continue;
		if (is_at_syscalls(program)) {
			to->call_programs++;
			to->call_ns += info.run_time_ns;
			to->calls += info.run_cnt;
		} else if (is_at_switches(program)) {
			to->switch_ns += info.run_time_ns;
			to->switches += info.run_cnt;
		} else {
			to->other_ns += info.run_time_ns;
			to->others += info.run_cnt;
		}
	}
}

uint64_t loader__recursion_misses(const struct bpf_object *object, const char *prefix)
{
	struct bpf_program *program;
	struct bpf_prog_info info;
	uint64_t misses = 0;

	bpf_object__for_each_program (program, object) {
		if (prefix && strncmp(bpf_program__name(program), prefix, strlen(prefix)))
			continue;
		if (get_info(program, &info))
			misses += info.recursion_misses;
	}
	return misses;
}

void loader__tag(const struct bpf_object *object, const char *program, char ret[LOADER_TAG_BYTES])
{
	struct bpf_prog_info info;

	ret[0] = '\0';
	if (!get_info(bpf_object__find_program_by_name(object, program), &info))
		return;
	for (int i = 0; i < BPF_TAG_SIZE; i++)
		sprintf(ret + 2 * i, "%02x", info.tag[i]);
}

json_t *loader__map_sizes(const struct bpf_object *object)
{
	json_t *sizes = json_object();
	struct bpf_map *map;

	bpf_object__for_each_map (map, object)
		json_object_set_new(sizes, bpf_map__name(map),
				    json_integer((json_int_t)bpf_map__max_entries(map)));
	return sizes;
}
