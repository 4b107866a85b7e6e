/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The agent's configuration: any text is read or refused with a message. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct config_error error = {};
	struct config config;

	if (!config__parse((const char *)data, size, &config, &error))
		config__release(&config);
	else if (!error.message[0])
		abort();
	return 0;
}
