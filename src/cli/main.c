/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/cli.h"

int main(int argc, char **argv)
{
	return cli__main(argc, argv);
}
