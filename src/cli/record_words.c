/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options of `gapless record` that do not come from its command line: from a text file (--config)
 * or from an earlier recording (--like), whose meta.options has the same format. Each goes through
 * the same parser as an option of the command line.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/words.h"
#include "cli/reader.h"
#include "cli/record.h"
#include "model/model.h"

#define MOST_BYTES 65536
#define BLANKS     " \t\r"

DEFINE_CLEANUP(sqlite3 *, sqlite3_close)
DEFINE_CLEANUP(sqlite3_stmt *, sqlite3_finalize)

/* A recording is not trusted, so none of these options names a file. */
static const char *const like_names[] = { "level",  "rate",      "stacks",     "no-stacks",
					  "budget", "seed",      "table-size", "signals",
					  "slow",   "warmup",    "duration",   "event",
					  "pair",   "sample-on", "requests",   "window-text",
					  NULL };

/* What a recording may say, but only the user may ask for: it names files, or is dangerous. */
static bool is_up_to_user(const char *name, const char *value)
{
	if (!strcmp(name, "pair"))
		return value && (strstr(value, "function:") || strstr(value, "usdt:"));
	return !strcmp(name, "function") || !strcmp(name, "window") || !strcmp(name, "usdt") ||
	       !strcmp(name, "force-returns");
}

struct source {
	struct record_options *options;
	struct argp_state *state;
	bool has_target; /* the command line names targets, so those of the file are ignored */
	char taken[512]; /* in the syntax of a command line */
};

static const struct argp_option *find_option(const struct argp *argp, const char *name)
{
	for (const struct argp_option *o = argp->options; o->name || o->key || o->doc; o++)
		if (o->name && !strcmp(o->name, name))
			return o;
	return NULL;
}

__attribute__((noreturn)) static void refuse_name(const struct source *source, const char *name)
{
	const char *known[64] = {};
	size_t count = 0;

	for (const struct argp_option *o = record_command.argp->options; o->name || o->doc; o++)
		if (o->name && count < 63)
			known[count++] = o->name;
	for (const struct argp_option *o = cli_target_argp.options; o->name; o++)
		if (count < 63)
			known[count++] = o->name;
	if (parse__nearest(name, known))
		cli__refuse(source->state, "unknown option '%s'; did you mean '%s'?", name,
			    parse__nearest(name, known));
	cli__refuse(source->state, "unknown option '%s' [see 'gapless record --help']", name);
}

static bool is_like_name(const char *name)
{
	size_t i = 0;

	while (like_names[i] && strcmp(like_names[i], name))
		i++;
	return like_names[i];
}

/* Whether this option may come from the file, and no earlier source has set it. */
static bool is_wanted(const struct source *source, const struct argp *argp,
		      const struct argp_option *option)
{
	const struct record_options *options = source->options;
	enum record_source before;

	if (argp == &cli_target_argp)
		return !source->has_target;
	/* Notes with different names do not conflict. */
	if (argp != record_command.argp || !strcmp(option->name, "note"))
		return true;
	before = options->sources[option->key];
	return !before || before >= options->source;
}

static void take(struct source *source, const char *name, char *value)
{
	struct record_options *options = source->options;
	const struct {
		const struct argp *argp;
		void *input;
	} places[] = {
		{ record_command.argp, options },
		{ &cli_target_argp, &options->run.target },
		{ &cli_common_argp, &options->common },
	};
	struct argp_state state = *source->state;
	const struct argp_option *option = NULL;
	size_t i = 0;

	while (i < 3 && !(option = find_option(places[i].argp, name)))
		i++;
	if (!option)
		refuse_name(source, name);
	if (options->source == RECORD_LIKE && is_up_to_user(name, value)) {
		log_warning("a recording cannot name programs to probe; continuing without its "
			    "'--%s%s%s' [repeat it]",
			    name, value ? " " : "",
			    words__clean(value ? value : "", WORDS_MOST_COLUMNS).text);
		return;
	}
	if (options->source == RECORD_LIKE && !is_like_name(name))
		cli__refuse(&state, "a recording cannot give the option '%s'", name);
	if (!strcmp(name, "config"))
		cli__refuse(&state, "a file cannot name another one ['config']");
	if (option->arg && (!value || !*value))
		cli__refuse(&state, "'%s' needs a value ['%s = %s']", name, name, option->arg);
	if (!option->arg && value)
		cli__refuse(&state, "'%s' takes no value", name);
	if (!is_wanted(source, places[i].argp, option))
		return;
	state.input = places[i].input;
	places[i].argp->parser(option->key, value, &state);
	words__say(source->taken, sizeof(source->taken), " --%s%s%s", name, value ? " " : "",
		   value ? value : "");
}

/* The text without the blanks around it. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length && strchr(BLANKS, text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Takes lines `name = value` or `name`. Modifies the text. */
static void take_lines(struct source *source, char *text, const char *path)
{
	char place[PATH_MAX + 32], *line;

	for (int number = 1; (line = strsep(&text, "\n")); number++) {
		char *name = trim(line), *value = strchr(name, '=');

		if (!*name || *name == '#')
			continue;
		if (value)
			*value++ = '\0';
		snprintf(place, sizeof(place), "%s:%d", path, number);
		log__set_place(place);
		take(source, trim(name), value ? trim(value) : NULL);
	}
	log__set_place(NULL);
}

/* NULL: failed, and the reason was logged. */
static char *read_config(const char *path)
{
	cleanup(fclose_p) FILE *file = fopen(path, "re");
	cleanup(free_p) char *text = calloc(1, MOST_BYTES + 1);
	struct stat info;
	size_t size;

	if (!file || !text || fstat(fileno(file), &info)) {
		log_error("cannot read '%s': %s", path, strerror(errno));
		return NULL;
	}
	size = S_ISDIR(info.st_mode) ? 0 : fread(text, 1, MOST_BYTES + 1, file);
	if (S_ISDIR(info.st_mode) || ferror(file))
		log_error("cannot read '%s': %s", path,
			  strerror(S_ISDIR(info.st_mode) ? EISDIR : errno));
	else if (size > MOST_BYTES || strlen(text) != size)
		log_error("'%s' is no file of options: %s", path,
			  size > MOST_BYTES ? "it is longer than 64 KiB" : "it is not text");
	else
		return TAKE(text);
	return NULL;
}

void record__take_config(struct record_options *options, struct argp_state *state)
{
	struct source source = {
		.options = options,
		.state = state,
		.has_target = options->command || !target__is_empty(&options->run.target),
	};

	if (!options->config)
		return;
	options->texts[0] = read_config(options->config);
	if (!options->texts[0])
		exit(EXIT_FAILURE);
	options->source = RECORD_CONFIG;
	take_lines(&source, options->texts[0], options->config);
}

struct like {
	const char *path;
	char *text; /* where the options go: MOST_BYTES + 1, shared by both processes */
};

/* Runs in a process without privileges. -ENODATA: the recording does not have it. */
static int copy_like(void *context)
{
	static const char sql[] = "SELECT value FROM meta WHERE key = 'options'";
	cleanup(sqlite3_close_p) sqlite3 *db = NULL;
	cleanup(sqlite3_finalize_p) sqlite3_stmt *row = NULL;
	const struct like *like = context;
	int size, err = recording__open(like->path, &db);

	if (err)
		return err;
	if (sqlite3_prepare_v2(db, sql, -1, &row, NULL))
		return -EIO;
	if (sqlite3_step(row) != SQLITE_ROW || sqlite3_column_type(row, 0) != SQLITE_TEXT)
		return -ENODATA;
	size = sqlite3_column_bytes(row, 0);
	memcpy(like->text, sqlite3_column_text(row, 0),
	       size < MOST_BYTES ? (size_t)size : MOST_BYTES);
	return 0;
}

static int read_like(const char *path, char **ret)
{
	void *shared = mmap(NULL, MOST_BYTES + 1, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct like like = { .path = path, .text = shared };
	char *text = NULL;
	int err;

	if (shared == MAP_FAILED)
		return -ENOMEM;
	err = reader__call(path, copy_like, &like);
	if (!err)
		text = strndup(like.text, MOST_BYTES);
	munmap(shared, MOST_BYTES + 1);
	if (!err && !text)
		err = -ENOMEM;
	if (!err)
		*ret = text;
	return err;
}

void record__take_like(struct record_options *options, struct argp_state *state)
{
	struct source source = { .options = options, .state = state };
	int err;

	if (!options->like)
		return;
	err = read_like(options->like, &options->texts[1]);
	if (err) {
		log_error("'%s': %s", options->like,
			  err == -ENODATA ? "it does not say with which options it was made"
					  : model__why(err));
		exit(EXIT_FAILURE);
	}
	options->source = RECORD_LIKE;
	take_lines(&source, options->texts[1], options->like);
	log_info("taken from '%s':%s", options->like, *source.taken ? source.taken : " nothing");
}

/* "10ms": in the syntax of parse__duration(), exact to the nanosecond. */
static void say_duration(char *text, size_t size, const char *name, uint64_t ns)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };
	size_t i = 0;

	if (!ns)
		return;
	while (ns % units[i].ns)
		i++;
	words__say(text, size, "%s = %" PRIu64 "%s\n", name, ns / units[i].ns, units[i].name);
}

void record__say_options(const struct record_options *options, char *text, size_t size)
{
	const struct run_options *run = &options->run;

	*text = '\0';
	words__say(text, size, "level = %s\nsignals = ", run->full ? "full" : "sched");
	for (size_t i = 0; run->signals[i]; i++)
		words__say(text, size, "%s%s", i ? "," : "", run->signals[i]->name);
	words__say(text, size, "%s\n", run->signals[0] ? "" : "none");
	if (run->full && run->budget_ppm)
		words__say(text, size, "budget = %g%%\n", run->budget_ppm / 1e4);
	else if (run->full)
		words__say(text, size, "budget = none\n");
	if (options->stacks)
		words__say(text, size, "%s\n",
			   options->stacks == STACKS_YES ? "stacks" : "no-stacks");
	if (run->tick_ns)
		words__say(text, size, "rate = %" PRIu64 "\ntable-size = %" PRIu64 "\n",
			   options->rate, run->table_bytes >> 20);
	if (run->seed)
		words__say(text, size, "seed = %" PRIu64 "\n", run->seed);
	say_duration(text, size, "slow", run->slow_ns);
	say_duration(text, size, "warmup", options->warmup_ns);
	say_duration(text, size, "duration", options->duration_ns);
	requests__say(&options->requests, text, size);
}

static struct record_note *find_note(struct record_options *options, const char *name)
{
	for (size_t i = 0; i < options->note_count; i++)
		if (!strcmp(options->notes[i].name, name))
			return &options->notes[i];
	return NULL;
}

static bool is_note_name(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isascii(name[i]) || (!isalnum(name[i]) && !strchr("_.-", name[i])))
			return false;
	return length && length <= RECORD_NOTE_NAME_BYTES;
}

void record__add_note(struct record_options *options, const char *arg, struct argp_state *state)
{
	struct record_note note = { .source = options->source }, *old;
	size_t length = strcspn(arg, "=");

	if (!arg[length] || !is_note_name(arg, length))
		cli__refuse(state,
			    "'%s' is not a note [NAME=VALUE; names have letters, digits, '_', '.', "
			    "'-']",
			    words__clean(arg, 60).text);
	if (strlen(arg + length + 1) > RECORD_NOTE_VALUE_BYTES)
		cli__refuse(state, "the note '%.*s' is longer than %d bytes", (int)length, arg,
			    RECORD_NOTE_VALUE_BYTES);
	note.text = strdup(arg);
	if (!note.text)
		cli__refuse(state, "%s", strerror(ENOMEM));
	note.text[length] = '\0';
	note.name = note.text;
	note.value = note.text + length + 1;
	old = find_note(options, note.name);
	if (!old && options->note_count == RECORD_NOTES_MOST)
		cli__refuse(state, "more than %d notes", RECORD_NOTES_MOST);
	if (old && old->source < note.source) {
		free(note.text);
		return;
	}
	if (old)
		free(old->text);
	else
		old = &options->notes[options->note_count++];
	*old = note;
}

void record__release(struct record_options *options)
{
	for (size_t i = 0; i < options->note_count; i++)
		free(options->notes[i].text);
	free(options->texts[0]);
	free(options->texts[1]);
}
