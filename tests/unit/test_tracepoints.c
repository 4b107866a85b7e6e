/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The signal events: its options, files of tracefs, and its records. */
#include "../harness.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "signals/events/event_format.h"
#include "signals/events/event_requests.h"
#include "signals/registry.h"

#define COMMON                                                                                     \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"                     \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

static const char switch_format[] =
	"name: sched_switch\nID: 316\nformat:\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:__data_loc char[] filename;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] device;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc unsigned long[] mask;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:const void * hrtimer;\toffset:56;\tsize:8;\tsigned:1;\n"
	"\tfield:__u8 saddr[4];\toffset:64;\tsize:4;\tsigned:0;\n"
	"\tfield:struct thing what;\toffset:68;\tsize:12;\tsigned:0;\n"
	"\nprint fmt: \"prev_comm=%s\", REC->prev_comm\n";

static char folder[] = "/tmp/gapless-events-XXXXXX";

static void put_file(const char *group, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/events", folder);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/%s", folder, group);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/%s/%s", folder, group, name);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/events/%s/%s/format", folder, group, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int make_tracefs(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	put_file("sched", "sched_switch", switch_format);
	put_file("sched", "sched_wakeup", switch_format);
	put_file("sched", "odd", "name: odd\n");
	return 0;
}

static int remove_tracefs(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command); /* NOLINT(cert-env33-c): a folder of this test */
}

static int forget(void **state)
{
	event_requests__clear();
	return 0;
}

static struct event_format parsed(const char *text)
{
	struct event_format format = {};

	assert_int_equal(event_format__parse(text, &format), 0);
	return format;
}

static void assert_field(const struct event_format *format, const char *name, unsigned offset,
			 unsigned size, enum events_kind kind)
{
	const struct event_field *field = event_format__find(format, name);

	assert_non_null(field);
	assert_int_equal(field->where.offset, offset);
	assert_int_equal(field->where.size, size);
	assert_int_equal(field->where.kind, kind);
}

static void a_format_has_its_fields_with_their_kinds(void **state)
{
	struct event_format format = parsed(switch_format);

	assert_int_equal(format.count, 9);
	assert_field(&format, "prev_comm", 8, 16, EVENTS_TEXT);
	assert_field(&format, "prev_pid", 24, 4, EVENTS_SIGNED);
	assert_field(&format, "prev_state", 32, 8, EVENTS_SIGNED);
	assert_field(&format, "filename", 40, 4, EVENTS_DATA_LOC);
	assert_field(&format, "device", 44, 4, EVENTS_REL_LOC);
	assert_field(&format, "mask", 48, 4, EVENTS_NO_FIELD);
	assert_field(&format, "hrtimer", 56, 8, EVENTS_UNSIGNED);
	assert_field(&format, "saddr", 64, 4, EVENTS_NO_FIELD);
	assert_field(&format, "what", 68, 12, EVENTS_NO_FIELD);
	assert_true(event_format__find(&format, "hrtimer")->is_pointer);
	assert_null(event_format__find(&format, "common_pid"));
}

static void a_format_that_is_malformed_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"format:\n",
		"\nformat:\n",
		"\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n",
		"\nformat:\nnonsense\nprint fmt:\n",
		"\nformat:\n\tfield:int a\nprint fmt:\n",
		"\nformat:\n\tfield:;\toffset:8;\tsize:4;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:a;\toffset:8;\tsize:4;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:];\toffset:8;\tsize:4;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:int [4];\toffset:8;\tsize:4;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:int a;\toffset:8;\tsize:;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:2;\nprint fmt:\n",
		"\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1; more\nprint fmt:\n",
		"\nformat:\n\tfield:int a;\toffset:8190;\tsize:4;\tsigned:1;\nprint fmt:\n",
		"\nformat:\n\tfield:int a;\toffset:99999999999999999999;\tsize:4;\tsigned:1;\n",
	};
	struct event_format format;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (event_format__parse(bad[i], &format) != -EBADMSG)
			fail_msg("accepted: %s", bad[i]);
}

static void a_format_with_too_many_fields_is_refused(void **state)
{
	static char text[EVENT_FORMAT_FIELDS * 64 + 256];
	struct event_format format;
	size_t used = (size_t)sprintf(text, "\nformat:\n");

	for (int i = 0; i <= EVENT_FORMAT_FIELDS; i++)
		used += (size_t)sprintf(text + used,
					"\tfield:int a%d;\toffset:8;\tsize:4;\tsigned:1;\n", i);
	strcpy(text + used, "print fmt:\n");
	assert_int_equal(event_format__parse(text, &format), -E2BIG);
}

static void an_event_has_a_group_a_name_and_fields(void **state)
{
	struct event_words words;
	const char *why;

	assert_int_equal(event_words__parse("sched:sched_switch", &words, &why), 0);
	assert_string_equal(words.point.group, "sched");
	assert_string_equal(words.point.name, "sched_switch");
	assert_string_equal(words.key, "");
	assert_int_equal(event_words__parse("event:xhci-hcd:a,value=b,key=c", &words, &why), 0);
	assert_string_equal(words.point.group, "xhci-hcd");
	assert_string_equal(words.key, "c");
	assert_string_equal(words.value, "b");
}

static void an_event_that_is_malformed_is_refused_and_leaves_the_output_alone(void **state)
{
	static const char *const bad[] = {
		"",        "sched",          ":",     "a:",          ":b",     "a:b,",
		"a:b,key", "a:b,key=",       "a:b:c", "a:b,key=a/b", "../a:b", "a:b,key=c,key=d",
		"a:b c",   "a:b,value=\xc3", "a: b",  "a:b,other=c"
	};
	struct event_words words = { .key = "before" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *why = NULL;

		if (!event_words__parse(bad[i], &words, &why) || !why)
			fail_msg("accepted: %s", bad[i]);
	}
	assert_string_equal(words.key, "before");
}

static void a_pair_has_two_events_and_what_they_share(void **state)
{
	struct event_words_pair words;
	const char *why;

	assert_int_equal(event_words__parse_pair("a:b -> c:d by thread", &words, &why), 0);
	assert_string_equal(words.points[0].name, "b");
	assert_string_equal(words.points[1].group, "c");
	assert_string_equal(words.fields[0], "");
	assert_int_equal(event_words__parse_pair("event:a:b->c:d by  x ", &words, &why), 0);
	assert_string_equal(words.fields[0], "x");
	assert_string_equal(words.fields[1], "x");
	assert_int_equal(event_words__parse_pair("a:b -> c:d by pid=next_pid", &words, &why), 0);
	assert_string_equal(words.fields[0], "pid");
	assert_string_equal(words.fields[1], "next_pid");
}

static void ends_of_pairs_may_be_functions_and_declared_probes(void **state)
{
	struct event_words_pair words;
	const char *why;

	assert_int_equal(
		event_words__parse_pair("function:libc:malloc -> usdt:a:b:c by arg1", &words, &why),
		0);
	assert_int_equal(words.points[0].kind, EVENT_WORDS_FUNCTION);
	assert_string_equal(words.points[0].spec, "libc:malloc");
	assert_int_equal(words.points[1].kind, EVENT_WORDS_USDT);
	assert_string_equal(words.points[1].spec, "a:b:c");
	assert_string_equal(words.fields[1], "arg1");
	assert_int_equal(
		event_words__parse_pair("function:p::operator-> -> a:b by arg2=x", &words, &why),
		0);
	assert_string_equal(words.points[0].spec, "p::operator->");
	assert_int_equal(words.points[1].kind, EVENT_WORDS_TRACEPOINT);
}

static void a_pair_that_is_malformed_is_refused(void **state)
{
	static const char *const bad[] = { "",
					   "function: -> a:b by thread",
					   "a:b -> usdt: by thread",
					   "a:b",
					   "a:b -> c:d",
					   "a:b by thread",
					   "a:b by thread -> c:d",
					   "-> by ",
					   "a:b -> by thread",
					   "a:b -> c:d by ",
					   "a:b -> c:d by x=",
					   "a:b -> c:d by =x",
					   "a:b -> c:d by x=y=z",
					   "a:b -> c:d -> e:f by thread",
					   "a:b -> c:d by thread by x y" };
	struct event_words_pair words;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		const char *why = NULL;

		if (!event_words__parse_pair(bad[i], &words, &why) || !why)
			fail_msg("accepted: %s", bad[i]);
	}
}

static void assert_refused(const char *text, int err, const char *words)
{
	char why[EVENT_REQUESTS_WHY] = "";

	assert_int_equal(event_requests__add(text, folder, why), err);
	if (!strstr(why, words))
		fail_msg("'%s' is not in: %s", words, why);
}

static void what_this_kernel_does_not_have_is_refused_with_a_remedy(void **state)
{
	char why[EVENT_REQUESTS_WHY];

	assert_refused("sched:sched_swich", -ENOENT, "did you mean 'sched:sched_switch'?");
	assert_refused("shed:sched_switch", -ENOENT, "did you mean 'sched'?");
	assert_refused("sched:sched_switch,key=pid", -ENOENT, "prev_comm, prev_pid, prev_state");
	assert_refused("sched:sched_switch,key=saddr", -ENOTSUP, "neither a number nor a text");
	assert_refused("sched:sched_switch,value=prev_comm", -ENOTSUP, "not a number");
	assert_refused("sched:odd", -EBADMSG, "not understood");
	assert_refused("nonsense", -EINVAL, "GROUP:NAME");
	assert_int_equal(event_requests__add("sched:odd", NULL, why), -ENODEV);
	assert_int_equal(event_requests__add_pair("sched:sched_wakeup -> sched:sched_switch by "
						  "prev_pid=prev_comm",
						  folder, why),
			 -ENOTSUP);
	assert_null(event_requests__point(0));
}

static void requests_of_one_event_share_its_point(void **state)
{
	char why[EVENT_REQUESTS_WHY];
	const struct events_knobs *knobs = event_requests__knobs(&(size_t) { 0 });

	assert_int_equal(event_requests__add("sched:sched_switch,key=prev_comm", folder, why), 0);
	assert_int_equal(event_requests__add_pair("sched:sched_switch -> sched:sched_switch by "
						  "prev_pid=prev_state",
						  folder, why),
			 0);
	assert_non_null(event_requests__point(0));
	assert_null(event_requests__point(1));
	/* The end comes first. */
	assert_int_equal(knobs->points[0].specs[0], 3);
	assert_int_equal(knobs->points[0].specs[1], 1);
	assert_int_equal(knobs->points[0].specs[2], 2);
	assert_int_equal(knobs->specs[2].role, EVENTS_ENDS);
	assert_int_equal(knobs->specs[2].key.offset, 32);
	assert_string_equal(event_requests__operation(0), "sched:sched_switch by prev_comm");
	assert_string_equal(event_requests__operation(EVENTS_SINGLES),
			    "sched:sched_switch -> sched:sched_switch by prev_pid=prev_state");
	assert_null(event_requests__operation(1));
	assert_null(event_requests__operation(EVENTS_OPERATIONS));
	assert_refused("sched:sched_switch,key=prev_comm", -EINVAL, "twice");
	assert_int_equal(event_requests__add("sched:sched_switch", folder, why), 0);
	assert_refused("sched:sched_switch,key=prev_pid", -E2BIG, "4 requests for one event");
}

static void assert_pair_refused(const char *text, int err, const char *words)
{
	char why[EVENT_REQUESTS_WHY] = "";

	assert_int_equal(event_requests__add_pair(text, folder, why), err);
	if (!strstr(why, words))
		fail_msg("'%s' is not in: %s", words, why);
}

static void probes_of_pairs_are_kept_until_the_target_is_known(void **state)
{
	char why[EVENT_REQUESTS_WHY];
	const struct event_requests_probe *probe;

	/* Without tracepoints, tracefs is not needed. */
	assert_int_equal(
		event_requests__add_pair("function:a -> function:lib:b by arg1=arg6", NULL, why),
		0);
	assert_int_equal(event_requests__add_pair("function:a -> sched:sched_switch by "
						  "arg2=prev_pid",
						  folder, why),
			 0);
	assert_string_equal(event_requests__operation(EVENTS_SINGLES), "a -> lib:b by arg1=arg6");
	probe = event_requests__probe(1);
	assert_string_equal(probe->point.spec, "lib:b");
	assert_int_equal(probe->argument, 6);
	assert_int_equal(probe->role, EVENTS_ENDS);
	assert_int_equal(event_requests__probe(2)->argument, 2);
	assert_null(event_requests__probe(3));
	assert_non_null(event_requests__point(0));
	assert_null(event_requests__point(1));
	assert_pair_refused("function:a -> function:b by arg7", -EINVAL, "arg1 to arg6");
	assert_pair_refused("function:a -> function:b by arg12", -EINVAL, "arg1 to arg6");
	assert_pair_refused("function:a -> sched:sched_switch by arg1=prev_comm", -ENOTSUP,
			    "never equal");
	assert_pair_refused("usdt:a -> function:b by thread", -EINVAL, "not a probe");
	assert_pair_refused("function:a -> function:lib:b by arg1=arg6", -EINVAL, "twice");
}

static void a_point_has_room_for_four_requests_and_ends_come_first(void **state)
{
	struct events_knobs *knobs = calloc(1, sizeof(*knobs));
	struct events_spec spec = { .role = EVENTS_BEGINS };
	size_t specs = 0;

	assert_int_equal(event_requests__add_spec(knobs, &specs, 5, &spec), 0);
	spec.role = EVENTS_ENDS;
	assert_int_equal(event_requests__add_spec(knobs, &specs, 5, &spec), 0);
	assert_int_equal(knobs->points[5].specs[0], 2);
	assert_int_equal(knobs->points[5].specs[1], 1);
	assert_int_equal(event_requests__add_spec(knobs, &specs, 5, &spec), 0);
	assert_int_equal(event_requests__add_spec(knobs, &specs, 5, &spec), 0);
	assert_int_equal(event_requests__add_spec(knobs, &specs, 5, &spec), -E2BIG);
	assert_int_equal(specs, 4);
	free(knobs);
}

static void numbers_are_named_by_their_field(void **state)
{
	char why[EVENT_REQUESTS_WHY], name[128];

	event_requests__add("sched:sched_switch,key=prev_pid", folder, why);
	event_requests__add("sched:sched_switch,key=hrtimer", folder, why);
	event_requests__name_object((__u64[]) { -3ULL, 1 }, name, sizeof(name));
	assert_string_equal(name, "prev_pid=-3");
	event_requests__name_object((__u64[]) { 0x1f, 2 }, name, sizeof(name));
	assert_string_equal(name, "hrtimer=0x1f");
	event_requests__name_object((__u64[]) { 5, ~0ULL }, name, sizeof(name));
}

static const struct signal *events_of_the_list(void)
{
	return registry__find("events", 6);
}

static void a_name_and_an_event_are_decoded(void **state)
{
	struct events_name name = {
		.head = { .size = sizeof(name), .kind = EVENTS_NAME, .version = 1 },
		.object = { 7, 1 | EVENTS_IS_TEXT },
		.text = "bash"
	};
	struct events_happened happened = {
		.head = { .size = sizeof(happened), .kind = EVENTS_HAPPENED, .version = 1 },
		.thread = 9,
		.value = 4096,
		.place = EVENTS_NEGATIVE,
	};
	struct event event = {};
	char why[EVENT_REQUESTS_WHY], place[32];

	event_requests__add("sched:sched_switch,key=prev_comm", folder, why);
	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name), &event), 0);
	assert_int_equal(event.kind, EVENT_NAMES);
	assert_string_equal(event.object_name, "prev_comm=bash");
	event = (struct event) {};
	assert_int_equal(events_of_the_list()->decode(&happened, sizeof(happened), &event), 0);
	assert_int_equal(event.thread, 9);
	assert_int_equal(event.values[0].number, 4096);
	events_of_the_list()->place(event.place, place, sizeof(place));
	assert_string_equal(place, "negative");
}

static void decode_refuses_a_wrong_record_and_leaves_the_output_alone(void **state)
{
	struct events_name name = {
		.head = { .size = sizeof(name), .kind = EVENTS_NAME, .version = 1 },
		.object = { 7, 1 | EVENTS_IS_TEXT }
	};
	struct events_happened happened = {
		.head = { .size = sizeof(happened), .kind = EVENTS_HAPPENED, .version = 1 },
		.operation = EVENTS_OPERATIONS,
	};
	const struct event untouched = {};
	struct event event = {};

	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name.head) - 1, &event),
			 -EBADMSG);
	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name) - 1, &event), -EBADMSG);
	memset(name.text, 'x', sizeof(name.text));
	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name), &event), -EBADMSG);
	name.text[5] = '\0';
	name.object[1] = 1;
	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name), &event), -EBADMSG);
	name.object[1] = EVENTS_IS_TEXT;
	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name), &event), -EBADMSG);
	name.head.kind = 2;
	assert_int_equal(events_of_the_list()->decode(&name, sizeof(name), &event), -EBADMSG);
	assert_int_equal(events_of_the_list()->decode(&happened, sizeof(happened), &event),
			 -EBADMSG);
	assert_memory_equal(&event, &untouched, sizeof(event));
}

static void all_signals_are_without_those_that_need_an_option(void **state)
{
	const struct signal *chosen[SIGNALS_MOST];
	const struct signal_option *option = NULL;
	const char *bad;

	assert_int_equal(registry__choose("all", chosen, &bad), 0);
	for (size_t i = 0; chosen[i]; i++)
		assert_ptr_not_equal(chosen[i], events_of_the_list());
	assert_int_equal(registry__choose("events", chosen, &bad), 0);
	assert_ptr_equal(chosen[0], events_of_the_list());
	assert_ptr_equal(registry__with_option("pair", &option), events_of_the_list());
	assert_string_equal(option->name, "pair");
	assert_null(registry__with_option("nothing", &option));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_format_has_its_fields_with_their_kinds),
		cmocka_unit_test(a_format_that_is_malformed_is_refused),
		cmocka_unit_test(a_format_with_too_many_fields_is_refused),
		cmocka_unit_test(an_event_has_a_group_a_name_and_fields),
		cmocka_unit_test(an_event_that_is_malformed_is_refused_and_leaves_the_output_alone),
		cmocka_unit_test(a_pair_has_two_events_and_what_they_share),
		cmocka_unit_test(ends_of_pairs_may_be_functions_and_declared_probes),
		cmocka_unit_test(a_pair_that_is_malformed_is_refused),
		cmocka_unit_test_teardown(what_this_kernel_does_not_have_is_refused_with_a_remedy,
					  forget),
		cmocka_unit_test_teardown(requests_of_one_event_share_its_point, forget),
		cmocka_unit_test_teardown(probes_of_pairs_are_kept_until_the_target_is_known,
					  forget),
		cmocka_unit_test(a_point_has_room_for_four_requests_and_ends_come_first),
		cmocka_unit_test_teardown(numbers_are_named_by_their_field, forget),
		cmocka_unit_test_teardown(a_name_and_an_event_are_decoded, forget),
		cmocka_unit_test(decode_refuses_a_wrong_record_and_leaves_the_output_alone),
		cmocka_unit_test(all_signals_are_without_those_that_need_an_option),
	};

	return cmocka_run_group_tests(tests, make_tracefs, remove_tracefs);
}
