/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The agent's configuration: lines "key: value", one per line; "#" begins a comment. All keys are
 * in the table in config.c, with their defaults and a sentence about each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum config_detail { CONFIG_NODE, CONFIG_SERVICE };
enum config_level { CONFIG_LEDGER, CONFIG_SIGNALS, CONFIG_STACKS, CONFIG_FULL };

struct config_lines {
	char **text;
	uint32_t *line; /* in the file */
	size_t count;
};

/* Strings are never NULL; "" is not set. */
struct config {
	char *host, *tenant, *cluster;
	uint64_t level; /* enum config_level: the highest that the governor may choose */
	uint64_t interval_ns;
	char *state_directory;
	struct {
		char *listen;
		uint64_t detail; /* enum config_detail */
		bool syscalls;
		char *certificate, *key, *client_ca, *token_file;
		uint64_t most_services, most_series;
	} metrics;
	struct {
		char *url, *database, *user, *password_file;
		char *ca, *certificate, *key;
		bool plain_password;
		uint64_t spool_bytes;
	} store;
	struct {
		char *url, *token_file;
		char *ca, *certificate, *key;
		uint64_t interval_ns;
		bool profiles;
	} otlp;
	struct {
		char *url, *token_file;
		char *ca, *certificate, *key;
	} profiles;
	struct {
		char *kubelet, *kubelet_ca, *kubelet_token_file;
		struct config_lines rules;
		uint64_t most;
	} identity;
	struct {
		uint64_t probability_ppm;
	} stacks;
	struct {
		uint64_t rows, objects, groups;
	} limits;
	struct {
		uint64_t cpu_ppm, memory_bytes;
	} budget;
};

struct config_error {
	unsigned line; /* 0: the file as a whole */
	char message[256];
};

/* All defaults. -ENOMEM. */
int config__defaults(struct config *ret);
/*
 * Reads the file. -EINVAL with *ret_error: a line is wrong; other errors of reading. *ret changes
 * only on success.
 */
int config__read(const char *path, struct config *ret, struct config_error *ret_error);
/* Parses `size` bytes of text. */
int config__parse(const char *text, size_t size, struct config *ret,
		  struct config_error *ret_error);
void config__release(struct config *config);

/* Writes the configuration in its own format, with a comment for each key. */
void config__print(FILE *out, const struct config *config);

/* Keys that are not set have an empty text. */
static inline const char *config__or_null(const char *text)
{
	return *text ? text : NULL;
}
