/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is too large is halved until it fits, so nothing has to be estimated. Only a single sample
 * that is too large is dropped.
 *
 * Each profile has a time of its own: the begin of the minute, a number of nanoseconds below a
 * second that differs between hosts, and one more for each profile of the minute. Pyroscope would
 * take profiles of one series and one time for copies.
 */
#include "otlp/profile_load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "base/vec.h"
#include "vocabulary/states.h"

#define SECOND_NS    UINT64_C(1000000000)
#define MOST_AGE_NS  (3600 * SECOND_NS)
#define MOST_SAMPLES 16000
#define MOST_BYTES   ((size_t)4 << 20)

/* A profile of pprof, or a request of OTLP. */
struct piece {
	struct proto bytes;
	size_t profiles;
	uint64_t time_ns;
	/* Of pprof. */
	char *service, *namespace_name;
	const char *state;
};

struct profile_load {
	struct courier_load load; /* the first member */
	struct profile_load_options options;
	uint64_t time_ns, host_id;
	uint64_t profiles; /* so far */
	struct piece *pieces;
	size_t piece_count;
	/* Of each request: how many profiles it has, and its first piece, with one more at the end.
	 */
	size_t *request_profiles, *firsts;
	size_t first_count;
};

static void free_load(struct courier_load *load)
{
	struct profile_load *profiles = (struct profile_load *)load;

	for (size_t i = 0; i < profiles->piece_count; i++) {
		proto__release(&profiles->pieces[i].bytes);
		free(profiles->pieces[i].service);
		free(profiles->pieces[i].namespace_name);
	}
	free(profiles->pieces);
	free(profiles->request_profiles);
	free(profiles->firsts);
	free(profiles);
}

static void free_profiles(struct profile_load **profiles)
{
	if (*profiles)
		free_load(&(*profiles)->load);
}

/* --- requests --- */

static int pack_pprof(const struct profile_load *profiles, size_t at, char **ret, size_t *ret_bytes)
{
	cleanup(proto__release) struct proto request = {};
	int err = 0;

	for (size_t i = profiles->firsts[at]; i < profiles->firsts[at + 1] && !err; i++) {
		const struct piece *piece = &profiles->pieces[i];
		const struct pprof_form_series series = { .service = piece->service,
							  .namespace_name = piece->namespace_name,
							  .state = piece->state,
							  .host_id = profiles->host_id,
							  .time_ns = piece->time_ns,
							  .profile = &piece->bytes };

		err = pprof_form__add(&series, &request);
	}
	if (err)
		return err;
	*ret = (char *)request.bytes;
	*ret_bytes = request.size;
	request = (struct proto) {};
	return 0;
}

static int pack(struct courier_load *load, size_t at, char **ret, size_t *ret_bytes)
{
	const struct profile_load *profiles = (const struct profile_load *)load;
	const struct proto *bytes = &profiles->pieces[at].bytes;

	if (clock__read_ns(CLOCK_REALTIME) > profiles->time_ns + MOST_AGE_NS)
		return -ESTALE;
	if (profiles->options.format == PROFILE_LOAD_PPROF)
		return pack_pprof(profiles, at, ret, ret_bytes);
	return gzip__pack(bytes->bytes, bytes->size, ret, ret_bytes);
}

/* As many pieces of pprof as fit go into one request. */
static int group(struct profile_load *profiles)
{
	size_t count = 0, bytes = 0, *first;

	for (size_t i = 0; i < profiles->piece_count; i++) {
		size_t size = profiles->pieces[i].bytes.size;
		bool is_new = !i || profiles->options.format == PROFILE_LOAD_OTLP ||
			      bytes + size > profiles->options.most_bytes;

		if (is_new) {
			size_t *sum = APPEND(&profiles->request_profiles, &count);

			first = APPEND(&profiles->firsts, &profiles->first_count);
			if (!sum || !first)
				return -ENOMEM;
			*first = i;
			bytes = 0;
		}
		bytes += size;
		profiles->request_profiles[count - 1] += profiles->pieces[i].profiles;
	}
	first = APPEND(&profiles->firsts, &profiles->first_count);
	if (!first)
		return -ENOMEM;
	*first = profiles->piece_count;
	profiles->load.count = count;
	profiles->load.profiles = profiles->request_profiles;
	return 0;
}

/* --- pieces --- */

static int encode(const struct profile_load *profiles, const struct sampled *sampled,
		  struct sampled_range range, struct piece *ret)
{
	uint64_t time_ns = profiles->time_ns + profiles->host_id % SECOND_NS + profiles->profiles;

	ret->time_ns = time_ns;
	ret->profiles = 1;
	if (profiles->options.format == PROFILE_LOAD_PPROF)
		return pprof_form__encode(sampled, range, time_ns,
					  profiles->options.context.version, &ret->bytes);
	return otlp_form__encode(sampled, range, time_ns, &profiles->options.context, &ret->bytes,
				 &ret->profiles);
}

/* Takes over the bytes. */
static int keep(struct profile_load *profiles, const struct sampled_row *row, struct piece *piece)
{
	struct piece *kept = APPEND(&profiles->pieces, &profiles->piece_count);

	if (!kept) {
		proto__release(&piece->bytes);
		return -ENOMEM;
	}
	*kept = *piece;
	profiles->profiles += piece->profiles;
	kept->state = states__words(row->sample->slot)->state;
	kept->service = strdup(row->service);
	kept->namespace_name = strdup(row->namespace_name);
	return kept->service && kept->namespace_name ? 0 : -ENOMEM;
}

/* NOLINTNEXTLINE(misc-no-recursion): each level halves the range */
static int add_range(struct profile_load *profiles, const struct sampled *sampled,
		     struct sampled_range range)
{
	const struct sampled_range half = { range.first, range.count / 2 };
	const struct sampled_range rest = { range.first + half.count, range.count - half.count };
	bool fits = range.count <= profiles->options.most_samples;
	struct piece piece = {};
	int err = fits ? encode(profiles, sampled, range, &piece) : 0;

	if (err)
		return err;
	if (fits && piece.bytes.size <= profiles->options.most_bytes)
		return keep(profiles, &sampled->rows[range.first], &piece);
	proto__release(&piece.bytes);
	if (range.count == 1) {
		profiles->load.too_large++;
		return 0;
	}
	err = add_range(profiles, sampled, half);
	return err ? err : add_range(profiles, sampled, rest);
}

static int add_all(struct profile_load *profiles, const struct sampled *sampled)
{
	struct sampled_range left = { 0, sampled->count };
	bool is_pprof = profiles->options.format == PROFILE_LOAD_PPROF;
	int err = 0;

	while (left.count && !err) {
		size_t run = is_pprof ? sampled__run(sampled, left, true) : left.count;

		err = add_range(profiles, sampled, (struct sampled_range) { left.first, run });
		left.first += run;
		left.count -= run;
	}
	return err;
}

int profile_load__new(const struct profile_load_options *options,
		      const struct fact_profile *profile, const struct fact_context *context,
		      struct courier_load **ret)
{
	cleanup(free_profiles) struct profile_load *profiles = calloc(1, sizeof(*profiles));
	cleanup(sampled__release) struct sampled sampled = {};
	int err = profiles ? sampled__make(profile, context, &sampled) : -ENOMEM;

	if (err)
		return err;
	profiles->load = (struct courier_load) { .pack = pack, .free = free_load };
	profiles->options = *options;
	if (!options->most_samples)
		profiles->options.most_samples = MOST_SAMPLES;
	if (!options->most_bytes)
		profiles->options.most_bytes = MOST_BYTES;
	profiles->time_ns = sampled.time_ns;
	profiles->host_id = sampled.host_id;
	err = add_all(profiles, &sampled);
	if (!err)
		err = group(profiles);
	if (!err)
		*ret = &TAKE(profiles)->load;
	return err;
}

void profile_load__route(enum profile_load_format format, struct courier_options *ret)
{
	bool is_pprof = format == PROFILE_LOAD_PPROF;

	ret->path = is_pprof ? PPROF_FORM_PATH : OTLP_FORM_PATH;
	ret->type = is_pprof ? PPROF_FORM_TYPE : OTLP_FORM_TYPE;
	/* Each profile of pprof is compressed by itself. */
	ret->is_gzip = !is_pprof;
}
