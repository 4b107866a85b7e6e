#include "signals/signal.h"

#include <string.h>

#include "signals/list.h"

#define DECLARE(name) extern const struct signal name##_signal;
SIGNALS(DECLARE)

#define ADDRESS(name) &name##_signal,
const struct signal *const signals[] = { SIGNALS(ADDRESS) NULL };

const struct signal *signal__find(const char *name, size_t length)
{
	for (size_t i = 0; signals[i]; i++)
		if (strlen(signals[i]->name) == length && !strncmp(signals[i]->name, name, length))
			return signals[i];
	return NULL;
}
