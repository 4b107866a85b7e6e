/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks a kubelet or the API server for the pods of this node, in a thread of its own, so that no
 * caller waits. Token and CA files are read again for each request, because Kubernetes renews them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KUBELET_ERROR_BYTES 256
#define KUBELET_URL_BYTES   1024

/* Strings can be NULL or "": none. They are copied. */
struct kubelet_settings {
	const char *url; /* see kubelet__expand() */
	const char *token_file, *ca_file;
	bool no_verify;    /* do not check the server's certificate: many kubelets sign their own */
	uint64_t every_ns; /* least time between two requests; 0: 10 s */
	uint64_t timeout_ns;       /* of a request; 0: 10 s */
	const char *const *labels; /* of pods; ends with NULL */
};

struct kubelet_quality {
	uint64_t requests;
	uint64_t failures;  /* all of these: */
	uint64_t refused;   /* 401 or 403 */
	uint64_t too_large; /* more than PODS_MOST_BYTES */
	uint64_t malformed; /* not a list of pods, or not complete */
	uint64_t pods;      /* in the last answer */
	uint64_t skipped;   /* pods of the last answer that were left out */
};

struct kubelet;
struct pods;

/*
 * The URL with each "${NAME}" replaced by that variable of the environment, because all nodes of a
 * cluster have the same configuration. -ENOENT: a variable is not set; -ENAMETOOLONG.
 */
int kubelet__expand(const char *url, char ret[KUBELET_URL_BYTES]);

/*
 * -EINVAL: no URL of http or https; -EPERM: the token would leave this machine unencrypted;
 * -ENOMEM; errors of pthread_create().
 */
int kubelet__new(const struct kubelet_settings *settings, struct kubelet **ret);
/* Ends the thread, within about a second even if a request is under way. */
void kubelet__free(struct kubelet *kubelet);

/* Asks as soon as allowed. After a failure, asks again on its own, after at most a minute. */
void kubelet__ask(struct kubelet *kubelet);

/* The newest answer, if it was not taken yet; NULL otherwise. The caller frees it. */
struct pods *kubelet__take(struct kubelet *kubelet);

/* The error of the last request; "" if it succeeded. */
void kubelet__quality(struct kubelet *kubelet, struct kubelet_quality *ret,
		      char ret_error[KUBELET_ERROR_BYTES]);
