/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bigexit MEGABYTES: fills so much memory and ends; the kernel then has to free it page by page. */
#include <sys/mman.h>

#include "workload.h"

int main(int argc, char **argv)
{
	size_t size = argc > 1 ? strtoul(argv[1], NULL, 10) << 20 : 0;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct phase phase = phase_begin("touch", "bigexit");

	if (!size || memory == MAP_FAILED)
		die("mmap");
	/* Huge pages are freed too fast to be seen. */
	madvise(memory, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += 4096, phase.count++)
		memory[i] = 1;
	phase_end(&phase);
	log_line("{\"phase\": \"exit\", \"begin_ns\": %lu}\n", now_ns());
	_exit(0);
}
