#include "core/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "core/ring.h"

struct session {
	const struct signal *signal;
	struct kernel_half half;
	struct hook_use hooks[SIGNAL_HOOKS];
	struct bpf_link *links[SIGNAL_HOOKS];
	struct ring *ring;
	const uint64_t *lost; /* the kernel half's counters, mapped */
	uint64_t malformed;
	session_event_fn take;
	void *context;
};

DEFINE_CLEANUP(struct session *, session__free)

static int take_record(void *context, const struct wire_head *head)
{
	struct session *session = context;
	struct event event;

	if (session->signal->decode(head, head->size, &event)) {
		session->malformed++;
		return 0;
	}
	return session->take(session->context, &event);
}

static const uint64_t *find_lost(const struct bpf_object *object)
{
	static const char suffix[] = ".data.lost";
	struct bpf_map *map;

	bpf_object__for_each_map (map, object) {
		const char *at = strstr(bpf_map__name(map), suffix);
		size_t size;

		if (at && !at[sizeof(suffix) - 1])
			return bpf_map__initial_value(map, &size);
	}
	return NULL;
}

static int load(struct session *session, struct features *features)
{
	const struct signal *signal = session->signal;
	int err = signal->open(&session->half);

	if (err) {
		log_error("signal '%s' cannot be opened: %s", signal->name, strerror(-err));
		return err;
	}
	if (!loader__choose(session->half.object, signal->hooks, features, session->hooks)) {
		log_error(
			"signal '%s' has no working hook on this machine: %s [see 'gapless doctor']",
			signal->name, session->hooks[0].why_not);
		return -ENOTSUP;
	}
	err = bpf_object__load_skeleton(session->half.skeleton);
	if (err) {
		loader__replay();
		log_error("signal '%s' does not load: %s [see 'gapless doctor']", signal->name,
			  strerror(-err));
	}
	return err;
}

/* A hook that does not attach costs its part of the signal, not the rest (law 5). */
static int attach(struct session *session)
{
	int attached = 0;

	for (size_t i = 0; session->signal->hooks[i].event; i++) {
		struct hook_use *use = &session->hooks[i];

		if (!use->program)
			continue;
		session->links[i] = bpf_program__attach(
			bpf_object__find_program_by_name(session->half.object, use->program));
		if (session->links[i]) {
			attached++;
			continue;
		}
		log_warning("'%s' of signal '%s' does not attach (%s); continuing without it",
			    use->event, session->signal->name, strerror(errno));
		use->program = NULL;
	}
	return attached ? 0 : -ENOTSUP;
}

int session__start(const struct signal *signal, struct features *features, session_event_fn take,
		   void *context, struct session **ret)
{
	cleanup(session__free_p) struct session *session = calloc(1, sizeof(*session));
	struct bpf_map *map;
	int err;

	if (!session)
		return -ENOMEM;
	session->signal = signal;
	session->take = take;
	session->context = context;
	loader__forget();
	err = load(session, features);
	if (err)
		return err;
	session->lost = find_lost(session->half.object);
	map = bpf_object__find_map_by_name(session->half.object, "ring");
	err = ring__new(bpf_map__fd(map), take_record, session, &session->ring);
	if (!err)
		err = attach(session);
	if (err) {
		log_error("signal '%s' does not start: %s", signal->name, strerror(-err));
		return err;
	}
	*ret = TAKE(session);
	return 0;
}

void session__free(struct session *session)
{
	if (!session)
		return;
	for (size_t i = 0; i < SIGNAL_HOOKS; i++)
		bpf_link__destroy(session->links[i]);
	ring__free(session->ring);
	if (session->half.skel)
		session->half.destroy(session->half.skel);
	free(session);
}

int session__poll(struct session *session, int timeout_ms)
{
	return ring__poll(session->ring, timeout_ms);
}

const struct hook_use *session__hooks(const struct session *session)
{
	return session->hooks;
}

struct session_losses session__losses(const struct session *session)
{
	struct session_losses losses = { .malformed = session->malformed +
						      ring__malformed(session->ring) };

	if (session->lost)
		memcpy(losses.lost, session->lost, sizeof(losses.lost));
	return losses;
}
