/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several recordings of the same target in a row, so that `gapless diff` can tell changes from
 * noise.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cli/child.h"
#include "cli/record.h"

int record__name(const char *base, uint64_t number, char ret[PATH_MAX])
{
	const char *file = strrchr(base, '/'), *suffix;
	int size;

	file = file ? file + 1 : base;
	suffix = strrchr(file, '.');
	/* A leading dot marks a hidden file, not a suffix. */
	if (!suffix || suffix == file)
		suffix = file + strlen(file);
	size = snprintf(ret, PATH_MAX, "%.*s-%" PRIu64 "%s", (int)(suffix - base), base, number,
			suffix);
	return size >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* Checks all file names before anything is started. */
static int check_names(const struct record_options *options)
{
	char path[PATH_MAX];
	struct stat info;

	for (uint64_t i = 1; i <= options->repeats; i++) {
		int err = record__name(options->output, i, path);

		if (err) {
			log_error("cannot write '%s': %s", options->output, strerror(-err));
			return err;
		}
		if (options->force || lstat(path, &info))
			continue;
		log_error("'%s' exists [--force to overwrite it, or -o another]", path);
		return -EEXIST;
	}
	return 0;
}

/* Continue after a command that failed, but not after one that cannot be executed. */
static bool may_go_on(const struct record_options *options, uint64_t number,
		      const struct record_result *result)
{
	bool hopeless = result->status == CHILD_NOT_FOUND;

	if (record__is_interrupted())
		return false;
	if (result->status)
		log_warning("the command ended with status %d in recording %" PRIu64 " of %" PRIu64
			    "; continuing %s",
			    result->status, number, options->repeats,
			    hopeless ? "with no more recordings" : "with the others");
	return !hopeless;
}

static bool is_target_gone(struct record_options *options, uint64_t number)
{
	if (options->command || target__forget_ended(&options->run.target))
		return false;
	log_error("the target is gone: %" PRIu64 " of %" PRIu64 " recordings cannot be made",
		  options->repeats - number + 1, options->repeats);
	return true;
}

static void say_made(const struct record_options *options, size_t made)
{
	char first[PATH_MAX], last[PATH_MAX];

	if (!made || record__name(options->output, 1, first) ||
	    record__name(options->output, made, last))
		return;
	log_info("made %zu of %" PRIu64 " recordings: '%s'%s%s%s [compare with 'gapless diff "
		 "BASE... -- NEW...']",
		 made, options->repeats, first, made > 1 ? " to '" : "", made > 1 ? last : "",
		 made > 1 ? "'" : "");
}

/* Makes all recordings; adds a line for each to `made`. Returns the exit status. */
static int make_all(struct record_options *options, struct features *features, json_t *made)
{
	int status = 0;

	for (uint64_t i = 1; i <= options->repeats; i++) {
		struct record_result result = {};
		char path[PATH_MAX];
		int err;

		if (i > 1 && is_target_gone(options, i))
			return status ? status : 1;
		record__name(options->output, i, path);
		err = record__one(options, path, i, features, &result);
		/* Recordings that were made before an interrupt are still a success. */
		if (!status && (err != -ECANCELED || !json_array_size(made)))
			status = record__exit_status(err, &result);
		if (err)
			break;
		json_array_append_new(made, json_pack("{s:s, s:s, s:i}", "recording", path, "ended",
						      record__end_word(result.end), "status",
						      result.status));
		if (!may_go_on(options, i, &result))
			break;
	}
	return status;
}

int record__repeat(struct record_options *options, struct features *features)
{
	json_t *made;
	int status;

	if (!options->output)
		options->output = RECORD_DEFAULT_FILE;
	if (check_names(options))
		return 1;
	made = json_array();
	status = make_all(options, features, made);
	say_made(options, json_array_size(made));
	if (!options->common.json)
		json_decref(made);
	else if (!cli__print_json(json_pack("{s:o}", "recordings", made)))
		status = status ? status : 1;
	return status;
}
