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
		  "'-1s' is not a time from the start [like 500ms, 10s, 2m]" },
		{ "report --from 9300000000s run.gapless",
		  "'9300000000s' is not a time from the start [like 500ms, 10s, 2m]" },
		{ "report --to 0s run.gapless", "--to 0s leaves nothing" },
		{ "report --top 0 run.gapless", "'0' is not a number of rows" },
		{ "report run.gapless other", "one recording at a time, not also 'other'" },
		{ "export -f svg -o '' run.gapless", "-o takes the name of a file, or -" },
		{ "export -f svg --json run.gapless", "-f says what to write, --json does not" },
		{ "export -f svg --to 0s run.gapless", "--to 0s leaves nothing" },
		{ "export -f svg --from x run.gapless",
		  "'x' is not a time from the start [like 500ms, 10s, 2m]" },
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

static void unknown_words_name_the_known_ones_once(void **state)
{
	folder__says("\"$G\" diff --nonsense run.gapless run.gapless", 2,
		     "gapless: error: unknown option '--nonsense' [see 'gapless diff --help']\n");
	folder__says("\"$G\" export -f nonsense run.gapless", 2,
		     "gapless: error: unknown format 'nonsense' [there are: folded, pprof, "
		     "speedscope, svg, firefox, perfetto, chrome]\n");
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
		IN_A_FOLDER(unknown_words_name_the_known_ones_once),
		IN_A_FOLDER(the_start_is_a_time_from_the_start),
	};

	/* Of those that it starts, root too may not do what permissions forbid. */
	prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE);
	prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
