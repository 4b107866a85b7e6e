/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/registry.h"

#include <errno.h>
#include <string.h>

#include "signals_list.h"

#define DECLARE(name) extern const struct signal name##_signal;
EACH_SIGNAL(DECLARE)

#define ADDRESS(name) &name##_signal,
const struct signal *const signals[] = { EACH_SIGNAL(ADDRESS) NULL };

const struct signal *registry__of(enum role role)
{
	for (size_t i = 0; signals[i]; i++)
		if (signals[i]->role == role)
			return signals[i];
	return NULL;
}

const struct signal *registry__find(const char *name, size_t length)
{
	for (size_t i = 0; signals[i]; i++)
		if (strlen(signals[i]->name) == length && !strncmp(signals[i]->name, name, length))
			return signals[i];
	return NULL;
}

static bool is_word(const char *word, size_t length, const char *name)
{
	return strlen(name) == length && !strncmp(word, name, length);
}

void registry__add(const struct signal *ret[SIGNALS_MOST], const struct signal *signal)
{
	size_t i = 0;

	while (ret[i] && ret[i] != signal)
		i++;
	if (!ret[i] && i < SIGNALS_MOST - 1) {
		ret[i] = signal;
		ret[i + 1] = NULL;
	}
}

static int add_word(const struct signal *ret[SIGNALS_MOST], const char *word, size_t length)
{
	bool all = is_word(word, length, "all"), usual = is_word(word, length, "default");

	if (is_word(word, length, "none"))
		return 0;
	if (!all && !usual) {
		const struct signal *signal = registry__find(word, length);

		if (signal)
			registry__add(ret, signal);
		return signal ? 0 : -ENOENT;
	}
	for (size_t i = 0; signals[i]; i++)
		if ((all && !signals[i]->on_request) || signals[i]->is_default)
			registry__add(ret, signals[i]);
	return 0;
}

const struct signal *registry__with_option(const char *name, const struct signal_option **ret)
{
	for (size_t i = 0; signals[i]; i++)
		for (const struct signal_option *o = signals[i]->options; o && o->name; o++)
			if (!strcmp(o->name, name)) {
				*ret = o;
				return signals[i];
			}
	return NULL;
}

int registry__choose(const char *list, const struct signal *ret[SIGNALS_MOST], const char **ret_bad)
{
	ret[0] = NULL;
	for (const char *word = list;; word++) {
		size_t length = strcspn(word, ",");

		if (add_word(ret, word, length)) {
			*ret_bad = word;
			return -ENOENT;
		}
		word += length;
		if (!*word)
			return 0;
	}
}
