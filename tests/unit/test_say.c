/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names in sentences. */
#include "../harness.h"

#include "base/words.h"
#include "findings/say.h"

static void becomes(const char *name, const char *said)
{
	struct hot_function function = { .name = name };
	struct model model = { .hot.functions = &function };
	const struct analysis analysis = { .model = &model };
	struct finding finding = {};

	say__function(&finding, &analysis, 0);
	assert_string_equal(finding.text, said);
}

static void arguments_are_left_out(void **state)
{
	becomes("bar", "bar");
	becomes("Foo::bar(int)", "Foo::bar");
	becomes("Foo::bar(void (*)(int), char) const", "Foo::bar");
	becomes("Foo::bar() [clone .cold]", "Foo::bar");
	becomes("Foo<void (*)(int)>::bar(int)", "Foo<void (*)(int)>::bar");
	becomes("(anonymous namespace)::bar(int)", "(anonymous namespace)::bar");
	becomes("Foo::operator()(int) const", "Foo::operator()");
	becomes("void App.handle(java.lang.String)", "void App.handle");
}

static void parentheses_inside_a_name_stay(void **state)
{
	becomes("main.(*Server).handle", "main.(*Server).handle");
	becomes("net/http.(*conn).serve", "net/http.(*conn).serve");
	becomes("main.(*Server).handle.func1", "main.(*Server).handle.func1");
	becomes("Foo<void (*)(int)>::bar", "Foo<void (*)(int)>::bar");
	becomes("Foo::operator()", "Foo::operator()");
	becomes("run(int)::{lambda()#1}", "run(int)::{lambda()#1}");
	becomes("JS:*(anonymous)", "JS:*(anonymous)");
}

static void odd_names_stay(void **state)
{
	becomes("", "");
	becomes("(", "(");
	becomes(")", ")");
	becomes("()", "()");
	becomes("a))", "a))");
}

static void the_command_that_tells_more_names_the_process_or_the_command(void **state)
{
	struct signals_signal recorded = { .name = "irq" };
	struct model_thread thread = { .pid = 42 };
	struct model_group group = { .first = &thread };
	struct model model = { .signals = { .list = &recorded, .count = 1 } };
	struct finding finding = {};

	say__next(&finding, &model, "memory", "--signals default,memory");
	assert_string_equal(finding.next, "");
	finding.group = &group;
	say__next(&finding, &model, "irq", "--signals default,irq");
	assert_string_equal(finding.next, "");
	say__next(&finding, &model, "memory", "--signals default,memory");
	assert_string_equal(finding.next, "gapless record --signals default,memory -p 42");
	say__next(&finding, &model, "heap", "--memory-heap");
	assert_string_equal(finding.next, "gapless record --signals default,memory -p 42");
	*finding.next = '\0';
	model.target = "command: make";
	say__next(&finding, &model, "heap", "--memory-heap");
	assert_string_equal(finding.next, "gapless record --memory-heap -- COMMAND");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_left_out),
		cmocka_unit_test(parentheses_inside_a_name_stay),
		cmocka_unit_test(odd_names_stay),
		cmocka_unit_test(the_command_that_tells_more_names_the_process_or_the_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
