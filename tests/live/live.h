/* What every live test needs: running gapless as a user would, and reading what it says. */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct output {
	int status; /* exit status, or 128 + signal */
	char *out;
	char *err;
};

/* Called in the child before it executes the program; NULL for nothing. */
typedef void (*live_prepare_fn)(void);

/* Runs `gapless` with these arguments (the last is NULL) to its end; fails the test if it cannot.
 */
struct output live__run(live_prepare_fn prepare, const char *const *args);
void live__release(struct output *output);

#define live__gapless(...) live__run(NULL, (const char *const[]) { __VA_ARGS__, NULL })

/* The output as JSON; fails the test if it is none. The caller owns it. */
json_t *live__json(const struct output *output);

/* The path of the program under test. */
const char *live__program(void);
