/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inlined functions whose places are known: test_symbol.c asks for them. Lines count. */
#include <stddef.h>

volatile int chain_sink;

static inline __attribute__((always_inline)) int innermost(int x)
{
	return chain_sink / (x | 1); /* line 8 */
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return innermost(x + 3) + 1; /* line 13 */
}

__attribute__((noinline)) int outermost(int x)
{
	int a = middle(x); /* line 18 */

	return a ^ chain_sink;
}

__attribute__((noinline)) static int plain(int x)
{
	return x * chain_sink; /* line 25 */
}

extern int unsized_function(int x);
/* No type, no size: as assembly often is. */
__asm__(".text\n"
	".globl unsized_function\n"
	"unsized_function:\n"
	"\tnop\n"
	"\tnop\n"
	"\tmov %edi, %eax\n"
	"\tret\n"
	".globl after_unsized\n"
	".type after_unsized, @function\n"
	"after_unsized:\n"
	"\tret\n"
	".size after_unsized, .-after_unsized\n");

int chain_choice(int x)
{
	return x + 5;
}

static int (*resolve(void))(int)
{
	return chain_choice;
}
int chosen(int x) __attribute__((ifunc("resolve")));

int main(int argc, char **argv)
{
	(void)argv;
	return outermost(argc) + plain(argc) + unsized_function(argc) + chosen(argc);
}
