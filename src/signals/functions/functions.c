/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/functions/functions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/strbuf.h"
#include "core/paths.h"
#include "core/signal.h"
#include "core/uprobes.h"
#include "signals/functions/function_probes.h"

enum { COLUMN_RETURNED, COLUMN_ARGUMENTS };

static const struct hook hooks[] = {
	{ "function entry", { "functions_on_entry" }, .flags = HOOK_BY_SIGNAL },
	{ "function return", { "functions_on_return" }, .flags = HOOK_BY_SIGNAL },
	{},
};

static const struct measure measures[] = { { "duration", "ns" }, { "returned", "units" }, {} };

static const struct column columns[] = {
	[COLUMN_RETURNED] = { "returned", COLUMN_NUMBER, 10 },
	[COLUMN_ARGUMENTS] = { "args", COLUMN_TEXT, 0 },
	{},
};

static int take_function(const char *arg, char *why, size_t size)
{
	return function_probes__ask(arg, FUNCTION_CALLS, why, size);
}

static int take_window(const char *arg, char *why, size_t size)
{
	return function_probes__ask(arg, FUNCTION_WINDOW, why, size);
}

static int take_usdt(const char *arg, char *why, size_t size)
{
	return function_probes__ask(arg, FUNCTION_USDT, why, size);
}

static int take_force_returns(const char *arg, char *why, size_t size)
{
	function_probes__force_returns();
	return 0;
}

static const struct signal_option options[] = {
	{ "function", take_function },
	{ "window", take_window },
	{ "usdt", take_usdt },
	{ "force-returns", take_force_returns },
	{},
};

static int decode_call(const struct functions_record *rec, size_t size, struct event *ret)
{
	struct strbuf text = { ret->scratch, sizeof(ret->scratch), 0 };

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) ||
	    rec->operation >= FUNCTIONS_OPERATIONS || rec->argument_count > FUNCTIONS_ARGUMENTS)
		return -EBADMSG;
	ret->thread = rec->thread;
	ret->stack = rec->stack;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	ret->duration_ns = rec->duration_ns;
	ret->place = rec->place;
	ret->operation = rec->operation;
	ret->values[COLUMN_RETURNED].number = (uint64_t)rec->returned;
	ret->values[COLUMN_RETURNED].none = rec->operation == FUNCTIONS_PROBE;
	ret->values[COLUMN_ARGUMENTS].none = rec->operation != FUNCTIONS_PROBE;
	ret->values[COLUMN_ARGUMENTS].text = ret->scratch;
	ret->scratch[0] = '\0';
	for (int i = 0; i < rec->argument_count; i++) {
		strbuf__add(&text, "%s", i ? ", " : "");
		if (rec->unread & 1 << i)
			strbuf__add(&text, "?");
		else
			strbuf__add(&text, "%" PRId64, (int64_t)rec->arguments[i]);
	}
	return 0;
}

/*
 * The path, the process and the offset are left in the event's values, for
 * function_probes__name_caller().
 */
static int decode_caller(const struct functions_caller *rec, size_t size, struct event *ret)
{
	char *path = ret->scratch + SIGNAL_SCRATCH / 4;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) ||
	    !paths__is_well_formed(&rec->path))
		return -EBADMSG;
	ret->kind = EVENT_NAMES;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	ret->object_kind = "caller";
	paths__join(&rec->path, path, SIGNAL_SCRATCH * 3 / 4);
	snprintf(ret->scratch, SIGNAL_SCRATCH / 4, "%.100s+%#llx", uprobes__base(path),
		 (unsigned long long)rec->offset);
	ret->object_name = ret->scratch;
	ret->values[0] = (struct value) { .text = path, .number = rec->offset };
	ret->values[1] = (struct value) { .number = rec->pid };
	return 0;
}

static int decode_key(const struct functions_key *rec, size_t size, struct event *ret)
{
	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec))
		return -EBADMSG;
	ret->kind = EVENT_NAMES;
	ret->object[0] = rec->object[0];
	ret->object[1] = rec->object[1];
	ret->object_kind = "argument";
	snprintf(ret->scratch, sizeof(ret->scratch), "arg1 = %" PRId64, (int64_t)rec->value);
	ret->object_name = ret->scratch;
	return 0;
}

static int functions_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct wire_head *head = bytes;

	if (size < sizeof(*head) || head->version != 1)
		return -EBADMSG;
	switch (head->kind) {
	case FUNCTIONS_CALL:
		return decode_call(bytes, size, ret);
	case FUNCTIONS_CALLER:
		return decode_caller(bytes, size, ret);
	case FUNCTIONS_KEY:
		return decode_key(bytes, size, ret);
	default:
		return -EBADMSG;
	}
}

static const char *operation(uint32_t operation)
{
	static const char *const names[] = {
		[FUNCTIONS_CALLED] = "called",        [FUNCTIONS_ZERO] = "returned 0",
		[FUNCTIONS_POSITIVE] = "returned >0", [FUNCTIONS_NEGATIVE] = "returned <0",
		[FUNCTIONS_LARGE] = "returned large", [FUNCTIONS_PROBE] = "probe",
	};

	return operation < FUNCTIONS_OPERATIONS ? names[operation] : NULL;
}

static void place(uint32_t place, char *ret, size_t size)
{
	snprintf(ret, size, "%s", function_probes__name(place));
}

static int refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	return function_probes__hold(object, is_last);
}

const struct signal functions_signal = {
	.name = "functions",
	.number = SIGNAL_functions,
	.about = "functions that --function or --window names: calls, duration, return value; USDT",
	.events = "calls",
	.on_request = true,
	.options = options,
	.find = function_probes__find,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.attach = function_probes__attach,
	.detach = function_probes__detach,
	.left_out = function_probes__left_out,
	.refresh = refresh,
	.decode = functions_decode,
	.name_object = function_probes__name_caller,
	.operation = operation,
	.place = place,
	.object_kind = "caller",
};
