/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a user hears who gives `report`, `export` or `diff` something that is not right. */
#include "../harness.h"

#include <linux/capability.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "folder.h"
#include "page/html.h"

static const char *const readers[] = {
	"report",
	"report --html x",
	"export -f svg",
	"diff run.gapless",
};

/* All say the same of a recording. */
static void all_say(const char *recording, const char *why)
{
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		char line[256], expected[256];

		if (!html__is_built() && strstr(readers[i], "html"))
			continue;
		snprintf(line, sizeof(line), "\"$G\" %s '%s'", readers[i], recording);
		snprintf(expected, sizeof(expected), "gapless: error: '%s': %s\n", recording, why);
		folder__says(line, 1, expected);
	}
}

static void what_is_no_recording_is_named(void **state)
{
	static const char no[] = "not a recording, or a damaged one";
	static const char none[] =
		"there is no such recording [make one with 'sudo gapless record']";

	all_say("missing", none);
	all_say("", none);
	all_say("-", none);
	all_say("run.gapless/x", "Not a directory");
	all_say(".", "a folder, not a recording");
	all_say("/dev/null", no);
	folder__says("echo words >words; : >zero; mkfifo fifo; head -c 5000 run.gapless >cut", 0,
		     "");
	all_say("words", no);
	all_say("zero", no);
	all_say("fifo", no);
	all_say("cut", no);
	folder__says("rm words zero fifo cut; cp run.gapless closed; chmod 0 closed", 0, "");
	all_say("closed", "not readable for you [a recording belongs to whoever made it: sudo]");
	folder__says("rm -f closed", 0, "");
}

static void edit(const char *path, const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void a_recording_of_the_future_is_named(void **state)
{
	folder__says("cp run.gapless later", 0, "");
	edit("later", "UPDATE meta SET value = 1000 WHERE key = 'schema_version'");
	all_say("later", "made by a newer gapless than this one [update]");
	folder__says("rm later", 0, "");
}

static void an_empty_recording_is_not_merely_less(void **state)
{
	folder__says("cp run.gapless empty", 0, "");
	edit("empty", "DELETE FROM thread; DELETE FROM account; DELETE FROM sample");
	folder__says("\"$G\" diff run.gapless empty | grep 'has losses'", 0,
		     "warning: 'empty' has losses: no thread was seen\n");
	folder__says("rm empty", 0, "");
}

static void a_recording_is_not_held_against_itself_unnoticed(void **state)
{
	folder__says("ln run.gapless other; \"$G\" diff run.gapless other | grep -E '^(warn|Noth)'",
		     0,
		     "warning: 'run.gapless' and 'other' are the same recording: noise looks "
		     "smaller than it is\n"
		     "Nothing differs by 1 % or more, beyond what samples can make by chance.\n");
	folder__says("rm other", 0, "");
}

static void windows_that_are_not_there_are_named(void **state)
{
	folder__says("\"$G\" report --window 7 run.gapless", 1,
		     "gapless: error: 'run.gapless': it has kept no window 7\n");
	folder__says("\"$G\" report --window-class cart run.gapless", 1,
		     "gapless: error: 'run.gapless': no request or call has 'cart' in its "
		     "service or name\n");
}

static void the_command_line_is_checked(void **state)
{
	static const struct {
		const char *line, *expected;
	} mistakes[] = {
		{ "report --html '' run.gapless", "--html takes the name of a file, or -" },
		{ "report --html x --json run.gapless", "--json or --html, not both" },
		{ "report --busy poll --idle poll run.gapless",
		  "'poll' is either --busy or --idle" },
		{ "report --from -1s run.gapless",
		  "'-1s' is not a time [since the start: 500ms, 10s, 2m; of day: 14:20, 14:20:05]" },
		{ "report --from 9300000000s run.gapless",
		  "'9300000000s' is not a time [since the start: 500ms, 10s, 2m; of day: 14:20, 14:20:05]" },
		{ "report --to 0s run.gapless", "--to 0s leaves nothing" },
		{ "report --from 14:60 run.gapless",
		  "'14:60' is not a time [since the start: 500ms, 10s, 2m; of day: 14:20, 14:20:05]" },
		{ "report --from 5s --to 5s run.gapless",
		  "--from and --to leave nothing: the end is not after the begin" },
		{ "report --window abc run.gapless",
		  "'abc' is not the number of a window [report --full lists some]" },
		{ "report --window 1 --html x run.gapless", "--window or --html, not both" },
		{ "report --window-class '' run.gapless",
		  "--window-class takes a part of a service or a name" },
		{ "report --slower-than x run.gapless", "'x' is not a time [50ms, 250us, 2s]" },
		{ "report --slower-than 0s run.gapless", "'0s' is not a time [50ms, 250us, 2s]" },
		{ "report --top 0 run.gapless", "'0' is not a number of rows" },
		{ "report run.gapless other", "one recording at a time, not also 'other'" },
		{ "diff --base 1s-2s run.gapless", "--base and --new go together" },
		{ "diff --base 1s --new 2s-3s run.gapless",
		  "'1s' is not a stretch [BEGIN-END: 0s-30s, 14:20:05-14:20:35]" },
		{ "diff --base 2s-1s --new 2s-3s run.gapless",
		  "the stretch '2s-1s' is empty: its end is not after its begin" },
		{ "diff --base 1s-2s --new 2s-3s run.gapless run.gapless",
		  "--base and --new are stretches of one recording" },
		{ "report --thread 1,x run.gapless", "--thread takes numbers, not '1,x'" },
		{ "export -f svg -o '' run.gapless", "-o takes the name of a file, or -" },
		{ "export -f svg --json run.gapless", "-f says what to write, --json does not" },
		{ "export -f svg --to 0s run.gapless", "--to 0s leaves nothing" },
		{ "export -f svg --from x run.gapless",
		  "'x' is not a time [since the start: 500ms, 10s, 2m; of day: 14:20, 14:20:05]" },
		{ "record -a --note x",
		  "'x' is not a note [NAME=VALUE; names have letters, digits, '_', '.', '-']" },
		{ "record -a --note =x",
		  "'=x' is not a note [NAME=VALUE; names have letters, digits, '_', '.', '-']" },
		{ "record -a --note a=$(printf %01001d 0)",
		  "the note 'a' is longer than 1000 bytes" },
		{ "record -a --note $(seq -s ' --note ' -f 'n%g=x' 33)", "more than 32 notes" },
		{ "record --like a --like b", "one file for --like, not also 'b'" },
		{ "record --config a --config b", "one file for --config, not also 'b'" },
		{ "diff run.gapless", "which recordings? [BASE NEW, or BASE... -- NEW...]" },
		{ "diff run.gapless -- run.gapless --json",
		  "options come before '--', unlike '--json'" },
		{ "diff --html '' run.gapless run.gapless",
		  "--html takes the name of a file, or -" },
		{ "diff --json --html - run.gapless run.gapless", "--json or --html -, not both" },
		{ "diff --top 1e3 run.gapless run.gapless", "'1e3' is not a number of rows" },
		{ "diff --fail-if nonsense run.gapless run.gapless",
		  "'nonsense' is no condition [like 'p99(syscall:fsync) > +10%']" },
	};

	for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
		const char *line = mistakes[i].line;
		int length = (int)strcspn(line, " ");
		char command[256], expected[512];

		snprintf(command, sizeof(command), "\"$G\" %s", line);
		snprintf(expected, sizeof(expected),
			 "gapless %.*s: %s\nTry `gapless %.*s --help' or `gapless %.*s --usage' "
			 "for more information.\n",
			 length, line, mistakes[i].expected, length, line, length, line);
		folder__says(command, 2, expected);
	}
}

/* The file "words" with this in it. */
static void config_says(const char *words, int status, const char *expected)
{
	char line[512], text[512];

	snprintf(line, sizeof(line), "printf '%s' >words; \"$G\" record --config words", words);
	snprintf(text, sizeof(text), "gapless: error: %s\n", expected);
	folder__says(line, status, text);
}

static void a_file_of_options_is_checked_line_by_line(void **state)
{
	config_says("# rate\\n\\nrate = x\\n", 2,
		    "words:3: 'x' is not a rate [1 to 10000 samples a second]");
	config_says("rat = 99", 2, "words:1: unknown option 'rat'; did you mean 'rate'?");
	config_says("nonsense", 2,
		    "words:1: unknown option 'nonsense' [see 'gapless record --help']");
	config_says(" = 3", 2, "words:1: unknown option '' [see 'gapless record --help']");
	config_says("force\\nrate\\n", 2, "words:2: 'rate' needs a value ['rate = RATE']");
	config_says("rate =\\n", 2, "words:1: 'rate' needs a value ['rate = RATE']");
	config_says("force = yes", 2, "words:1: 'force' takes no value");
	config_says("level = high", 2, "words:1: 'high' is not a level [full, sched]");
	config_says("signals = block,nonsense", 2,
		    "words:1: 'nonsense' is not a signal [see 'gapless list']");
	config_says("slow = -1s", 2, "words:1: '-1s' is not a duration [like 500us, 10ms]");
	config_says("pid = me", 2, "words:1: 'me' is not a number of a process or thread");
	config_says("pid = 2000000000", 1,
		    "words:1: there is no process 2000000000 [see 'ps -eL']");
	config_says("config = words", 2, "words:1: a file cannot name another one ['config']");
	config_says("note = a b=c", 2,
		    "words:1: 'a b=c' is not a note [NAME=VALUE; names have letters, digits, '_', "
		    "'.', '-']");
	config_says("rate = 9\\000", 1, "'words' is no file of options: it is not text");
	folder__says("head -c 70000 /dev/zero | tr '\\0' '#' >words; \"$G\" record --config words",
		     1,
		     "gapless: error: 'words' is no file of options: it is longer than 64 KiB\n");
	folder__says("\"$G\" record --config missing", 1,
		     "gapless: error: cannot read 'missing': No such file or directory\n");
	folder__says("\"$G\" record --config .; rm words", 0,
		     "gapless: error: cannot read '.': Is a directory\n");
}

static void a_recording_gives_no_names_of_files(void **state)
{
	folder__says("\"$G\" record --like missing", 1,
		     "gapless: error: 'missing': there is no such recording [make one with 'sudo "
		     "gapless record']\n");
	folder__says("\"$G\" record --like run.gapless", 1,
		     "gapless: error: 'run.gapless': it does not say with which options it was "
		     "made\n");
	folder__says("cp run.gapless bad", 0, "");
	edit("bad", "INSERT INTO meta VALUES('options', 'output = /etc/motd')");
	folder__says("\"$G\" record --like bad", 2,
		     "gapless: error: bad:1: a recording cannot give the option 'output'\n");
	edit("bad", "UPDATE meta SET value = 'level = ?' WHERE key = 'options'");
	folder__says("\"$G\" record --like bad", 2,
		     "gapless: error: bad:1: '?' is not a level [full, sched]\n");
	edit("bad", "UPDATE meta SET value = 3 WHERE key = 'options'");
	folder__says("\"$G\" record --like bad; rm bad", 0,
		     "gapless: error: 'bad': it does not say with which options it was made\n");
}

static void notes_are_shown_without_secrets(void **state)
{
	folder__says("cp run.gapless noted", 0, "");
	edit("noted", "INSERT INTO meta VALUES('note.build', '1.2 \x1b[31m'),"
		      "('note.token', 'abc'), ('note.', 'x'), ('note.null', NULL)");
	folder__says("\"$G\" report noted | grep -A1 ^notes", 0,
		     "notes        build = 1.2 ?[31m\n             token = abc\n");
	folder__says("\"$G\" report --args redacted noted | grep 'token ='", 0,
		     "             token = [redacted]\n");
	folder__says(
		"\"$G\" report --json --args none noted | grep -o '\"token\": \"[^\"]*\"'; rm noted",
		0, "\"token\": \"[redacted]\"\n");
}

static void requests_that_a_recording_lacks_are_named(void **state)
{
	folder__says("\"$G\" diff --per 'window:GET /nosuch' run.gapless run.gapless", 1,
		     "gapless: error: 'run.gapless': no request or call has 'GET /nosuch' in the "
		     "name of its service or in its own [see 'gapless report']\n");
}

static void unknown_words_name_the_known_ones_once(void **state)
{
	folder__says("\"$G\" diff --nonsense run.gapless run.gapless", 2,
		     "gapless: error: unknown option '--nonsense' [see 'gapless diff --help']\n");
	folder__says("\"$G\" export -f nonsense run.gapless", 2,
		     "gapless: error: unknown format 'nonsense' [there are: folded, pprof, "
		     "speedscope, svg, firefox, perfetto, chrome, otlp-traces]\n");
	folder__says("\"$G\" nonsense", 2,
		     "gapless: error: unknown command 'nonsense' [see 'gapless --help']\n");
}

static void the_start_is_a_time_from_the_start(void **state)
{
	folder__says("\"$G\" report --from 0s run.gapless >x && \"$G\" report run.gapless | cmp x"
		     " && rm x",
		     0, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		IN_A_FOLDER(what_is_no_recording_is_named),
		IN_A_FOLDER(a_recording_of_the_future_is_named),
		IN_A_FOLDER(an_empty_recording_is_not_merely_less),
		IN_A_FOLDER(a_recording_is_not_held_against_itself_unnoticed),
		IN_A_FOLDER(the_command_line_is_checked),
		IN_A_FOLDER(windows_that_are_not_there_are_named),
		IN_A_FOLDER(a_file_of_options_is_checked_line_by_line),
		IN_A_FOLDER(a_recording_gives_no_names_of_files),
		IN_A_FOLDER(notes_are_shown_without_secrets),
		IN_A_FOLDER(requests_that_a_recording_lacks_are_named),
		IN_A_FOLDER(unknown_words_name_the_known_ones_once),
		IN_A_FOLDER(the_start_is_a_time_from_the_start),
	};

	/* Of those that it starts, root too may not do what permissions forbid. */
	prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
	prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
