/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A function or a probe may be at several places, each of which has its arguments elsewhere. So
 * each place has a spec of its own. A place that is the end of one pair and the begin of another
 * has one probe, because the order in which the kernel runs several is not known.
 */
#include "signals/events/event_probes.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "core/probe_set.h"
#include "signals/events/event_requests.h"

static struct {
	struct uprobe_sites sites;
	struct events_knobs knobs;
	size_t specs; /* of the knobs */
} found;

/* A pair with one end would count begins without an end, or ends without a begin. */
static struct probe_set set = { .program = "events_on_probe",
				.hits = "events_hits",
				.all_or_none = true };

/* --- arguments -------------------------------------------------------------------------------- */

/* Where functions have their arguments, in the form of declared probes. */
static const char *convention_of(const struct uprobe_site *site)
{
#if defined(__x86_64__)
	/* Go has a convention of its own, since 1.17. */
	return site->place.flags & FINDER_GO ? "8@%rax 8@%rbx 8@%rcx 8@%rdi 8@%rsi 8@%r8"
					     : "8@%rdi 8@%rsi 8@%rdx 8@%rcx 8@%r8 8@%r9";
#else
	return "";
#endif
}

/* False: the place has no such argument, or in a form that is not supported. */
static bool find_argument(const struct uprobe_site *site, const struct event_requests_probe *probe,
			  struct events_field *ret)
{
	static const __u16 sources[] = { [USDT_CONSTANT] = EVENTS_CONSTANT,
					 [USDT_REGISTER] = EVENTS_IN_RECORD,
					 [USDT_MEMORY] = EVENTS_AT_ADDRESS };
	struct usdt_argument arguments[USDT_MOST_ARGUMENTS] = {}, *argument;

	*ret = (struct events_field) {};
	if (!probe->argument)
		return true;
	if (probe->point.kind == EVENT_WORDS_USDT)
		memcpy(arguments, site->place.arguments, sizeof(arguments));
	else if (!site->file || site->place.flags & FINDER_AT_ENTRY)
		usdt__arguments(convention_of(site), arguments);
	argument = &arguments[probe->argument - 1];
	if (argument->kind == USDT_UNKNOWN)
		return false;
	*ret = (struct events_field) { .offset = argument->register_at,
				       .size = argument->bytes,
				       .kind = argument->is_signed ? EVENTS_SIGNED
								   : EVENTS_UNSIGNED,
				       .source = sources[argument->kind],
				       .value = argument->value };
	return true;
}

/* --- places ----------------------------------------------------------------------------------- */

static bool is_same_place(const struct uprobe_site *a, const struct uprobe_site *b)
{
	if (!a->file || !b->file)
		return !a->file && !b->file && a->place.offset == b->place.offset &&
		       !strcmp(a->place.name, b->place.name);
	return a->where.device == b->where.device && a->where.inode == b->where.inode &&
	       a->place.offset == b->place.offset;
}

/* The probe at this place, which is added if need be. False: there can be none. */
static bool find_probe(const struct uprobe_site *site, size_t *ret)
{
	for (*ret = 0; *ret < set.count; ++*ret)
		if (is_same_place(set.probes[*ret].site, site))
			return true;
	return probe_set__add(&set, site, site->place.name, false);
}

/* Returns whether the place became one of the request. */
static bool add_place(const struct uprobe_site *site, const struct event_requests_probe *probe)
{
	struct events_spec spec = { .role = probe->role, .operation = probe->operation };
	size_t number;

	if (!find_argument(site, probe, &spec.key)) {
		log_warning("'%s': argument %u is not known at one of its places; continuing "
			    "without that place",
			    site->place.name, probe->argument);
		return false;
	}
	if (!find_probe(site, &number))
		return false;
	if (found.knobs.first_probe + number >= EVENTS_SPECS ||
	    event_requests__add_spec(&found.knobs, &found.specs, found.knobs.first_probe + number,
				     &spec)) {
		log_warning("'%s': there is no room for more places of pairs; continuing without "
			    "that place",
			    site->place.name);
		return false;
	}
	return true;
}

static int resolve(struct finder *finder, const struct event_requests_probe *probe,
		   const struct uprobe_scope *scope)
{
	bool is_usdt = probe->point.kind == EVENT_WORDS_USDT;
	struct uprobe_spec spec = {};
	int err = is_usdt ? uprobes__parse_usdt(probe->point.spec, &spec)
			  : uprobes__parse(probe->point.spec, &spec);

	if (!err)
		err = uprobes__resolve(finder, &spec, scope, &found.sites);
	if (err)
		log_error("--pair: %s '%s': %s", is_usdt ? "usdt" : "function", probe->point.spec,
			  found.sites.why);
	else if (found.sites.more)
		log_warning("'%s' matches more than %d places with all others; continuing without "
			    "the rest",
			    probe->point.spec, UPROBES_MOST);
	found.sites.more = false;
	return err;
}

static void forget(void)
{
	probe_set__clear(&set);
	uprobes__release(&found.sites);
	memset(&found, 0, sizeof(found));
	found.knobs = *event_requests__knobs(&found.specs);
	while (event_requests__point(found.knobs.first_probe))
		found.knobs.first_probe++;
}

/* Adds the places of one request. */
static int add_places(const struct event_requests_probe *probe, size_t from, size_t to)
{
	size_t added = 0;

	for (size_t i = from; i < to; i++)
		added += add_place(&found.sites.all[i], probe);
	if (!added)
		log_error("--pair: '%s' has no place that can be probed", probe->point.spec);
	return added ? 0 : -ENOTSUP;
}

DEFINE_CLEANUP(struct finder *, finder__free)

int event_probes__find(const struct uprobe_scope *scope, uint32_t budget_ppm)
{
	cleanup(finder__free_p) struct finder *finder = NULL;
	const struct event_requests_probe *probe;
	size_t ends[2 * EVENTS_PAIRS] = {};
	int err = 0;

	forget();
	set.budget_ppm = budget_ppm;
	if (event_requests__probe(0))
		err = finder__new(&finder);
	for (size_t i = 0; !err && (probe = event_requests__probe(i)); i++) {
		err = resolve(finder, probe, scope);
		ends[i] = found.sites.count;
	}
	/* The array of sites has moved while it was growing, but does not any more. */
	for (size_t i = 0; !err && (probe = event_requests__probe(i)); i++)
		err = add_places(probe, i ? ends[i - 1] : 0, ends[i]);
	if (err)
		forget();
	return err;
}

const struct events_knobs *event_probes__knobs(void)
{
	return &found.knobs;
}

/* --- attaching -------------------------------------------------------------------------------- */

int event_probes__attach(const struct bpf_object *object)
{
	return set.count ? probe_set__attach(&set, object) : 0;
}

void event_probes__detach(void)
{
	probe_set__detach(&set);
}

int event_probes__hold(const struct bpf_object *object, bool is_last)
{
	return set.count ? probe_set__hold(&set, object, is_last) : 0;
}

uint64_t event_probes__left_out(void)
{
	return probe_set__left_out(&set);
}
