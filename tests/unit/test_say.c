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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_left_out),
		cmocka_unit_test(parentheses_inside_a_name_stay),
		cmocka_unit_test(odd_names_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
