/* SPDX-License-Identifier: GPL-2.0-or-later */
/* searcher: looks for a library in 40 folders that do not exist, again and again. */
#include <sys/stat.h>

#include "workload.h"

#define ROUNDS  2000
#define FOLDERS 40
#define FEW     30

int main(void)
{
	static const char *const words[] = { "red", "green", "blue", "grey", "pink" };
	struct stat info;
	char path[64];

	set_name("searcher");
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < FOLDERS; j++) {
			snprintf(path, sizeof(path), "/nowhere/%s%c/libplugin.so", words[j % 5],
				 'a' + j / 5);
			if (!stat(path, &info))
				die(path);
		}
		if (stat("/proc/self", &info))
			die("/proc/self");
	}
	for (int i = 0; i < FEW; i++) {
		snprintf(path, sizeof(path), "/proc/version/%d", i);
		if (open(path, O_RDONLY) >= 0 || errno != ENOTDIR)
			die(path);
	}
	return 0;
}
