/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/json_percentiles.h"

#include <stdio.h>

void json_percentiles__put(json_t *object, const char *suffix, const int64_t values[PERCENTILES])
{
	for (int i = 0; i < PERCENTILES; i++) {
		char key[32];

		snprintf(key, sizeof(key), "%s%s", percentiles__words(i)->key, suffix);
		json_object_set_new(object, key,
				    values[i] < 0 ? json_null()
						  : json_integer((json_int_t)values[i]));
	}
}
