/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * host SECONDS LIBRARY…: runs code of all libraries in turn. Also runs code that is in no file,
 * like that of a JIT compiler, with a perf map of 10 GB.
 */
#include <dlfcn.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define MOST_LIBRARIES 128
#define MAP_BYTES      (10L << 30)

/* 200,000 iterations of: dec %eax; jnz */
static const unsigned char code[] = { 0xb8, 0x40, 0x0d, 0x03, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0xc3 };

static void (*make_code(void))(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	if (memory == MAP_FAILED)
		err(1, "mmap");
	memcpy(memory, code, sizeof(code));
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	map = fopen(path, "w");
	if (!map || fprintf(map, "%lx 1000 compiled\n", (unsigned long)memory) < 0 || fflush(map) ||
	    ftruncate(fileno(map), MAP_BYTES) || fclose(map))
		err(1, "%s", path);
	return (void (*)(void))(uintptr_t)memory;
}

int main(int argc, char **argv)
{
	void (*functions[MOST_LIBRARIES + 1])(void);
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 10);
	int count = 0;

	functions[count++] = make_code();
	for (int i = 2; i < argc && count <= MOST_LIBRARIES; i++) {
		void *library = dlopen(argv[i], RTLD_NOW);
		void *spin = library ? dlsym(library, "spin") : NULL;

		if (!spin)
			errx(1, "%s", dlerror());
		functions[count++] = (void (*)(void))(uintptr_t)spin;
	}
	while (time(NULL) < end)
		for (int i = 0; i < count; i++)
			functions[i]();
	return 0;
}
