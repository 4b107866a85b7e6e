/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Declares a probe, as <sys/sdt.h> does, with arguments in a form that the test chooses.
 * `semaphore`: a symbol, or "0". Behind `arguments`, the operands of the asm statement follow.
 */
#pragma once

#if defined(__x86_64__)
#define USDT(provider, name, semaphore, arguments, ...)                                            \
	__asm__ volatile("990: nop\n"                                                              \
			 ".pushsection .note.stapsdt, \"\", \"note\"\n"                            \
			 ".balign 4\n"                                                             \
			 ".4byte 8, 992f - 991f, 3\n"                                              \
			 ".asciz \"stapsdt\"\n"                                                    \
			 "991: .8byte 990b\n"                                                      \
			 ".8byte 0\n"                                                              \
			 ".8byte " semaphore "\n"                                                  \
			 ".asciz \"" provider "\"\n"                                               \
			 ".asciz \"" name "\"\n"                                                   \
			 ".asciz \"" arguments "\"\n"                                              \
			 "992: .balign 4\n"                                                        \
			 ".popsection" ::__VA_ARGS__)
#else
#define USDT(provider, name, semaphore, arguments, ...)
#endif
