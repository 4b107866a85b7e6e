/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why the slowest requests or calls of a service take longer than the fastest, in words. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/windows.h"

#define REQUESTS_REASONS   3
#define REQUESTS_EVIDENCES 8

/* Times are those of a window on average. */
struct requests_slow {
	const struct windows *windows;
	const struct windows_service *service;
	int64_t more_ns; /* the slowest less the fastest */
	/* That the slowest spend more time on, beyond chance: the largest differences first. */
	struct {
		const struct windows_row *row;
		double share; /* of more_ns */
	} reasons[REQUESTS_REASONS];
	size_t reason_count;
	const struct windows_row *running; /* NULL: they did not run */
};

/* How kept windows of a service are known to be part of others. */
struct requests_links {
	struct {
		const char *evidence; /* "": unknown */
		int64_t count;
	} list[REQUESTS_EVIDENCES];
	size_t count;
	int64_t all; /* windows that are part of others */
};

/*
 * Compares the slowest windows of a service with its fastest. False: there are too few of them, or
 * chance may have made the difference.
 */
bool requests_words__slow(const struct windows *windows, const struct windows_service *service,
			  struct requests_slow *ret);
/*
 * Appends, with cleaned names: "The slowest 1.2 % of requests to nginx take 19.7 ms longer than the
 * fastest half, on average: 54 % because …, 44 % because …. Running is <0.1 % of that (6.70 µs
 * instead of 6.20 µs)."
 */
void requests_words__say(const struct requests_slow *slow, char *text, size_t size);

/* The most frequent evidence first. */
void requests_words__links(const struct windows *windows, const struct windows_service *service,
			   struct requests_links *ret);
/* "requests", "calls": windows of a service. */
const char *requests_words__many(const struct windows_service *service);
/* "1.2 %": how many of the windows of a service are in a band; "-": too few to say. */
struct words requests_words__band(const struct windows_service *service, enum windows_bands band);
/* ", held by thread logger (tid 4242)", ", woken by …"; nothing if it is unknown. */
void requests_words__say_culprit(const struct model *model, const struct windows_wait *wait,
				 char *text, size_t size);
/* "own: wait.lock, futex orders_lock, held by …": what a window waited for. */
void requests_words__say_wait(const struct model *model, const struct windows_wait *wait,
			      char *text, size_t size);
