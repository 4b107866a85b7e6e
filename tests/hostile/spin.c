/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The library from which the hostile files are made. */
void spin(void);

void spin(void)
{
	for (volatile int i = 0; i < 200000; i++)
		;
}
