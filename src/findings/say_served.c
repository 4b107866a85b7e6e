/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the answers of another server mean for the requests that a program serves itself. */
#include <string.h>

#include "base/words.h"
#include "findings/say.h"

#define LINKED_PERCENT 90 /* of the requests there: sent for requests that it served */
#define LEAST_PERCENT  1
#define CUT_PART       10 /* more than this part above all served: several were sent at once */

/* Requests of one kind, of all processes with one name. */
struct served {
	const struct windows_service *most; /* with most time; NULL: there are none */
	int64_t count, ns;
};

static bool is_of(const struct windows_service *service, enum window_words_kind kind,
		  const struct model_group *group, const char *peer)
{
	const struct windows_class *class = service->first;

	return !strcmp(class->kind, window_words__kind(kind)->key) &&
	       !strcmp(class->comm, group->process_comm) &&
	       (!peer || !strcmp(class->service, peer));
}

static struct served sum_of(const struct windows *windows, enum window_words_kind kind,
			    const struct model_group *group, const char *peer)
{
	struct served sum = {};

	for (size_t i = 0; i < windows->service_count; i++) {
		const struct windows_service *service = &windows->services[i];

		if (!is_of(service, kind, group, peer))
			continue;
		sum.count += service->n;
		sum.ns += service->length_ns;
		if (!sum.most || service->length_ns > sum.most->length_ns)
			sum.most = service;
	}
	return sum;
}

/* Whether nearly all requests to the peer were sent for requests that were served. */
static bool are_linked(const struct windows *windows, const struct model_group *group,
		       const char *peer)
{
	double linked = 0, all = 0;

	for (size_t i = 0; i < windows->kept_count; i++) {
		const struct windows_one *one = &windows->kept[i];
		const struct windows_service *service = model_windows__service(windows, one->class);

		if (!service || !is_of(service, WORDS_KIND_CLIENT, group, peer))
			continue;
		all += one->weight;
		linked += one->parent ? one->weight : 0;
	}
	return all > 0 && linked * 100 >= all * LINKED_PERCENT;
}

void say_served__put(struct finding *finding, const struct model *model,
		     const struct model_group *group, const char *peer)
{
	const struct windows *windows = &model->windows;
	struct served asked, served;
	char where[160] = "";

	if (!peer)
		return;
	asked = sum_of(windows, WORDS_KIND_CLIENT, group, peer);
	served = sum_of(windows, WORDS_KIND_SERVER, group, NULL);
	if (!asked.most || !served.most || asked.ns - asked.ns / CUT_PART > served.ns ||
	    !model__reaches(asked.ns, served.ns, LEAST_PERCENT) ||
	    !are_linked(windows, group, peer))
		return;
	if (served.most->n == served.count)
		model_windows__say_where(served.most, where, sizeof(where));
	/* Some were sent for requests that were not over when the recording ended. */
	if (asked.ns > served.ns)
		asked.ns = served.ns;
	say(finding, "; its requests there took %s of the time of the %s that it served%s",
	    words__about(asked.ns, served.ns).text, words__count(served.count, "requests").text,
	    where);
}
