/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Certificate, key, CA of the clients and bearer token of a server, from files. Files with secrets
 * (key, token) must not be readable by others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CREDENTIALS_MESSAGE_BYTES 256

/* Paths of PEM files, and of a file with one line; NULL: none. The caller keeps the strings. */
struct credentials_files {
	const char *certificate, *key, *client_ca, *token;
};

struct credentials;

/* -errno, and `message` says what is wrong with which file. */
int credentials__read(const struct credentials_files *files,
		      char message[CREDENTIALS_MESSAGE_BYTES], struct credentials **ret);
void credentials__free(struct credentials *credentials);

/* Whether a file is not the one that was read. */
bool credentials__changed(const struct credentials *credentials,
			  const struct credentials_files *files);

/* Terminated; NULL: none. */
const char *credentials__certificate(const struct credentials *credentials);
const char *credentials__key(const struct credentials *credentials);
const char *credentials__client_ca(const struct credentials *credentials);
bool credentials__has_token(const struct credentials *credentials);

/*
 * Whether a header "Authorization" (NULL: none) has the token. The time that this takes does not
 * depend on how much of it is right.
 */
bool credentials__knows(const struct credentials *credentials, const char *authorization);
/* Unix time at which the certificate expires; 0: there is none. */
int64_t credentials__expires_s(const struct credentials *credentials);
