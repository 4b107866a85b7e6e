/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parsed: 8 threads make and drop messages that are too large for the threads' caches. */
#include "exam.h"

static _Atomic long messages;

NAMED char *parse_message(unsigned int *seed)
{
	size_t size = 1500 + rand_r(seed) % 40000;
	char *message = malloc(size);

	if (!message)
		exit(1);
	message[0] = message[size - 1] = 1;
	return message;
}

NAMED void drop_message(char *message)
{
	free(message);
	messages++;
}

static void *parse(void *unused)
{
	unsigned int seed = (unsigned int)gettid();
	char *kept[16] = { NULL };

	for (int i = 0;; i = (i + 1) % 16) {
		if (kept[i])
			drop_message(kept[i]);
		kept[i] = parse_message(&seed);
	}
	return unused;
}

int main(void)
{
	for (int i = 0; i < 8; i++)
		start_thread_named("parser", i, parse);
	for (;;) {
		long before = messages;

		sleep(1);
		printf("%ld messages in a second\n", messages - before);
		fflush(stdout);
	}
}
