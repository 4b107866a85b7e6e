/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * deep MS [VARIANT…]: known stacks, 200 deep and more, in all the ways that make unwinding hard;
 * all variants if none is named. Built without frame pointers.
 */
#include "deep.h"

#define STACK_BYTES (64UL << 20)
#define NAP_NS      (2 * MS)

struct variant {
	const char *name; /* the thread's too */
	void (*through)(void);
};

uint64_t deep_ns;

/* Tests look for this name as an inlined frame of bottom_burn(). */
static inline __attribute__((always_inline)) void burn_inlined(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

NOINLINE void bottom_burn(uint64_t ns)
{
	burn_inlined(ns);
	KEEP_FRAME();
}

NOINLINE void bottom_nap(uint64_t ns)
{
	uint64_t end = now_ns() + ns;

	while (now_ns() < end)
		sleep_ns(NAP_NS);
	KEEP_FRAME();
}

static void step_a(int left, void (*through)(void));

/* Three frames of different sizes in turn. */
static NOINLINE void step_c(int left, void (*through)(void))
{
	char room[1000];

	OCCUPY(room);
	if (left)
		step_a(left - 1, through);
	else
		through();
	KEEP_FRAME();
}

static NOINLINE void step_b(int left, void (*through)(void))
{
	char room[24];

	OCCUPY(room);
	if (left)
		step_c(left - 1, through);
	else
		through();
	KEEP_FRAME();
}

static NOINLINE void step_a(int left, void (*through)(void))
{
	if (left)
		step_b(left - 1, through);
	else
		through();
	KEEP_FRAME();
}

void through_plain(void)
{
	bottom_burn(deep_ns);
	bottom_nap(deep_ns);
	KEEP_FRAME();
}

/* Meanwhile the recorder makes the tables of this program: an emulated machine needs a second. */
static void through_first(void)
{
	bottom_burn(3 * deep_ns);
	KEEP_FRAME();
}

static void *run_variant(void *arg)
{
	const struct variant *variant = arg;

	set_name(variant->name);
	step_a(DEEP_STEPS - 1, variant->through);
	KEEP_FRAME();
	return NULL;
}

static const struct variant variants[] = {
	{ "first", through_first },
	{ "plain", through_plain },
	{ "alloca", through_alloca },
	{ "leaf", through_leaf },
	{ "hot", through_hot },
	{ "realign", through_realign },
	{ "argument", through_argument_pointer },
	{ "big", through_big },
	{ "limit", through_limit },
	{ "beyond", through_beyond },
	{ "vdso", through_vdso },
	{ "library", through_library },
	{ "reopened", through_reopened },
	{ "plt", through_plt },
	{ "signal", through_signal },
	{ "alt-below", through_alternate_below },
	{ "alt-above", through_alternate_above },
	{ "async", through_async },
	{ "sigreturn", through_sigreturn },
	{ "bare", through_bare },
};

static void start_variant(const struct variant *variant)
{
	pthread_attr_t attributes;
	pthread_t thread;

	make_alternate_above();
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	errno = pthread_create(&thread, &attributes, run_variant, (void *)variant);
	if (errno)
		die("pthread_create");
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attributes);
}

static int run_named(const char *name)
{
	int found = 0;

	for (size_t i = 0; i < sizeof(variants) / sizeof(*variants); i++) {
		if (name && strcmp(name, variants[i].name))
			continue;
		start_variant(&variants[i]);
		found = 1;
	}
	return found;
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fprintf(stderr, "usage: deep MS [VARIANT…]\n");
		return 2;
	}
	deep_ns = strtoul(argv[1], NULL, 10) * MS;
	if (argc == 2)
		run_named(NULL);
	for (int i = 2; i < argc; i++) {
		if (!run_named(argv[i])) {
			fprintf(stderr, "no variant '%s'\n", argv[i]);
			return 2;
		}
	}
	return 0;
}
