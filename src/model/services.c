/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups connections into services. A missing connection pool shows as thousands of connections
 * that live for milliseconds. One connection alone says nothing, but the end that they share does.
 * The shared end is the one that was connected to: the local end of an accepted connection, the
 * peer of a connection that was opened here. For connections older than the recording it is the end
 * with the smaller port, because clients get large ephemeral ports.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "model/load.h"
#include "model/model.h"
#include "model/signals.h"

/* A connection that is being assigned to a service. */
struct connection {
	const char *name; /* name of the service; not NUL-terminated */
	size_t length;
	struct signals_service sums;
	bool accepted, connected;
};

struct measures {
	int time, bytes, segments;
};

static int by_object(const void *a, const void *b)
{
	const struct signals_series *x = *(const struct signals_series *const *)a;
	const struct signals_series *y = *(const struct signals_series *const *)b;

	return (x->object > y->object) - (x->object < y->object);
}

static int64_t value(const struct signals_sum *sum, int measure)
{
	return measure < 0 ? 0 : sum->sum[measure];
}

/* Some measures count events, others the segments in them. */
static int64_t segments(const struct signals_sum *sum, const struct measures *measures)
{
	int64_t count = value(sum, measures->segments);

	return count ? count : sum->count;
}

static void add_series(struct connection *connection, const char *operation,
		       const struct signals_series *series, const struct measures *measures)
{
	struct signals_service *sums = &connection->sums;
	const struct signals_sum *sum = &series->sum;

	if (!sums->thread)
		sums->thread = series->thread;
	if (!strcmp(operation, "retransmit")) {
		sums->again += segments(sum, measures);
		return;
	}
	sums->bytes += value(sum, measures->bytes);
	if (!strcmp(operation, "send")) {
		sums->segments += value(sum, measures->segments);
	} else if (!strcmp(operation, "connect") || !strcmp(operation, "accept")) {
		connection->accepted |= *operation == 'a';
		connection->connected |= *operation == 'c';
		sums->opened += sum->count;
	} else if (!strcmp(operation, "lifetime")) {
		sums->ended += sum->count;
		sums->lifetime_ns += value(sum, measures->time);
	} else if (!strcmp(operation, "reset")) {
		sums->resets += sum->count;
	} else if (!strcmp(operation, "overflow")) {
		sums->overflows += sum->count;
		connection->accepted = true;
	} else if (!strcmp(operation, "zero_window")) {
		sums->zero_windows += sum->count;
	}
}

static long port_of(const char *name, size_t length)
{
	const char *colon = memrchr(name, ':', length);

	return colon ? strtol(colon + 1, NULL, 10) : 0;
}

/* The length of an address without its port. */
static size_t host_length(const char *name, size_t length)
{
	const char *colon = memrchr(name, ':', length);

	return colon ? (size_t)(colon - name) : length;
}

static bool is_loopback(const char *name)
{
	static const char *const known[] = { "127.", "[::1]", "[::ffff:127." };

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(name, known[i], strlen(known[i])))
			return true;
	return false;
}

/* There is no network between two equal addresses, nor on the way to a loopback address. */
static enum signals_peers peers_of(const char *name)
{
	const char *arrow = strstr(name, MODEL_ARROW),
		   *peer = arrow ? arrow + strlen(MODEL_ARROW) : NULL;
	size_t host;

	if (!strncmp(name, "to ", 3) || !strncmp(name, "at ", 3))
		name += 3;
	if (is_loopback(name) || (peer && is_loopback(peer)))
		return SIGNALS_PEERS_LOCAL;
	if (!peer)
		return SIGNALS_PEERS_UNKNOWN;
	host = host_length(name, (size_t)(arrow - name));
	return host == host_length(peer, strlen(peer)) && !strncmp(name, peer, host)
		       ? SIGNALS_PEERS_LOCAL
		       : SIGNALS_PEERS_AWAY;
}

static void find_service(struct connection *connection, const char *name)
{
	const char *arrow = strstr(name, MODEL_ARROW),
		   *peer = arrow ? arrow + strlen(MODEL_ARROW) : NULL;
	bool ours = connection->accepted;

	connection->sums.peers = peers_of(name);
	/* Short connections are already summed up in the recording: "to 10.0.0.1:5432". */
	if (!arrow && (!strncmp(name, "to ", 3) || !strncmp(name, "at ", 3))) {
		connection->sums.accepts = *name == 'a';
		connection->name = name + 3;
		connection->length = strlen(name + 3);
		return;
	}
	connection->name = name;
	connection->length = arrow ? (size_t)(arrow - name) : strlen(name);
	if (arrow && !connection->accepted && !connection->connected)
		ours = port_of(name, connection->length) < port_of(peer, strlen(peer));
	connection->sums.accepts = ours || !arrow;
	if (connection->sums.accepts)
		return;
	connection->name = peer;
	connection->length = strlen(peer);
}

static int compare_services(const struct connection *a, const struct connection *b)
{
	size_t length = a->length < b->length ? a->length : b->length;
	int order = (int)a->sums.accepts - (int)b->sums.accepts;

	if (!order)
		order = memcmp(a->name, b->name, length);
	return order ? order : (a->length > b->length) - (a->length < b->length);
}

static const struct model_group *group_of(const struct connection *connection)
{
	return connection->sums.thread ? connection->sums.thread->group : NULL;
}

static int by_service(const void *a, const void *b)
{
	const struct connection *x = a, *y = b;
	uintptr_t group_x = (uintptr_t)group_of(x), group_y = (uintptr_t)group_of(y);
	int order = compare_services(x, y);

	return order ? order : (group_x > group_y) - (group_x < group_y);
}

static int by_traffic(const void *a, const void *b)
{
	const struct signals_service *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->connections != y->connections)
		return x->connections < y->connections ? 1 : -1;
	return strcmp(x->name, y->name);
}

static void add_connection(struct signals_service *to, const struct signals_service *what)
{
	/*
	 * A socket that only listens is not a connection. A sum of short connections counts as
	 * many.
	 */
	if (what->opened > 1)
		to->connections += what->opened;
	else
		to->connections += what->opened || what->ended || what->bytes || what->segments;
	if (to->peers < what->peers)
		to->peers = what->peers;
	to->opened += what->opened;
	to->ended += what->ended;
	to->lifetime_ns += what->lifetime_ns;
	to->bytes += what->bytes;
	to->segments += what->segments;
	to->again += what->again;
	to->resets += what->resets;
	to->overflows += what->overflows;
	to->zero_windows += what->zero_windows;
}

/*
 * Fills a service from its connections, sorted by group, and finds the group that has most of them.
 */
static int fill(struct model *model, struct signals_service *ret, const struct connection *list,
		size_t count)
{
	const struct model_thread *thread = NULL;
	size_t begin = 0, most = 0;
	char name[512];

	*ret = (struct signals_service) { .accepts = list->sums.accepts };
	for (size_t i = 0; i < count; i++) {
		add_connection(ret, &list[i].sums);
		if (!i || group_of(&list[i]) != group_of(&list[begin])) {
			begin = i;
			thread = list[i].sums.thread;
		}
		if (thread != list[i].sums.thread)
			thread = NULL;
		if (i - begin + 1 < most)
			continue;
		most = i - begin + 1;
		ret->group = group_of(&list[i]);
		ret->thread = thread;
	}
	snprintf(name, sizeof(name), "%.*s", (int)(list->length < 500 ? list->length : 500),
		 list->name);
	ret->name = load__keep(model, name);
	return ret->name ? 0 : -ENOMEM;
}

static size_t make_connections(const struct signals_signal *signal,
			       const struct signals_series **list, size_t count,
			       struct connection *ret)
{
	const struct measures measures = { signals__measure(signal, "time"),
					   signals__measure(signal, "bytes"),
					   signals__measure(signal, "segments") };
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		if (!i || list[i]->object != list[i - 1]->object)
			made++;
		add_series(&ret[made - 1], signal->rows[list[i]->row].operation, list[i],
			   &measures);
		if (i + 1 == count || list[i + 1]->object != list[i]->object)
			find_service(&ret[made - 1], list[i]->object->name);
	}
	return made;
}

int signals__make_services(struct model *model, struct signals_signal *signal)
{
	cleanup(free_p) const struct signals_series **list =
		calloc(signal->series_count + 1, sizeof(*list));
	cleanup(free_p) struct connection *connections =
		calloc(signal->series_count + 1, sizeof(*connections));
	size_t count = 0, begin = 0;
	int err = 0;

	if (!list || !connections)
		return -ENOMEM;
	for (size_t i = 0; i < signal->series_count; i++)
		if (signal->series[i].object)
			list[count++] = &signal->series[i];
	qsort(list, count, sizeof(*list), by_object);
	count = make_connections(signal, list, count, connections);
	qsort(connections, count, sizeof(*connections), by_service);
	signal->services = calloc(count + 1, sizeof(*signal->services));
	if (!signal->services)
		return -ENOMEM;
	for (size_t i = 1; i <= count && !err; i++) {
		if (i < count && !compare_services(&connections[i], &connections[begin]))
			continue;
		err = fill(model, &signal->services[signal->service_count++], &connections[begin],
			   i - begin);
		begin = i;
	}
	if (!err)
		qsort(signal->services, signal->service_count, sizeof(*signal->services),
		      by_traffic);
	return err;
}
