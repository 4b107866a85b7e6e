/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded by `walked`: a function that calls another through the PLT, for the first time and again.
 */
int plugin_inner(int number);
int plugin_outer(int number);

__attribute__((noinline)) int plugin_inner(int number)
{
	__asm__ volatile("" : "+r"(number)::"memory");
	return number + 1;
}

int plugin_outer(int number)
{
	int sum = plugin_inner(number);

	return sum + plugin_inner(sum);
}
