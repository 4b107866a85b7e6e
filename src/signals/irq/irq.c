/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/irq/irq.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "core/series.h"
#include "core/signal.h"
#include "signals/irq/irq_edges.h"

/* Ends are attached first, so that every begin that is seen has an end. */
static const struct hook hooks[] = {
	{ "irq_handler_exit", { "irq_on_handler_exit" } },
	{ "irq_handler_entry", { "irq_on_handler_entry" } },
	{ "softirq_exit", { "on_softirq_exit" } },
	{ "softirq_entry", { "on_softirq_entry" } },
	{ "local_timer_exit", { "irq_on_local_timer_exit" } },
	{ "local_timer_entry", { "irq_on_local_timer_entry" } },
	{ "reschedule_exit", { "irq_on_reschedule_exit" } },
	{ "reschedule_entry", { "irq_on_reschedule_entry" } },
	{ "call_function_exit", { "irq_on_call_function_exit" } },
	{ "call_function_entry", { "irq_on_call_function_entry" } },
	{ "call_function_single_exit", { "irq_on_call_function_single_exit" } },
	{ "call_function_single_entry", { "irq_on_call_function_single_entry" } },
	{ "irq_work_exit", { "irq_on_irq_work_exit" } },
	{ "irq_work_entry", { "irq_on_irq_work_entry" } },
	{},
};

static const struct measure measures[] = { { "time", "ns" }, { "taken", "ns" }, {} };

static const struct column columns[] = {
	{ "own_ns", COLUMN_NS, 8 },
	{ "cpu", COLUMN_NUMBER, 4 },
	{ "interrupted_tid", COLUMN_NUMBER, 15 },
	{ "interrupted", COLUMN_TEXT, 0 },
	{},
};

/* The ledger divides running time if there are hooks that tell when interrupts run. */
static int irq_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	size_t size = 0;
	bool *knob = series__section(object, ".rodata.interrupts", &size);

	if (!knob || size != sizeof(*knob))
		return -EPROTO;
	*knob = true;
	return 0;
}

static int irq_refresh(struct bpf_object *object, struct bpf_link *const *links, bool is_last)
{
	static bool is_warned;
	size_t size = 0;
	uint64_t *edges_ns = series__section(object, ".data.interrupts", &size);

	if (!edges_ns || size != sizeof(*edges_ns))
		return -EPROTO;
	*edges_ns = irq_edges__measure(object);
	log_debug("an interrupt takes %lu ns outside of its hooks", (unsigned long)*edges_ns);
	if (!*edges_ns && !is_warned)
		log_warning("what an interrupt takes outside of its hooks could not be measured; "
			    "continuing with that time in the interrupted thread");
	is_warned |= !*edges_ns;
	return 0;
}

static int irq_decode(const void *bytes, size_t size, struct event *ret)
{
	const struct irq_record *rec = bytes;

	if (size < sizeof(*rec) || rec->head.size != sizeof(*rec) || rec->head.version != 1 ||
	    !memchr(rec->comm, '\0', sizeof(rec->comm)) || !IRQ_PLACE_KIND(rec->place) ||
	    IRQ_PLACE_KIND(rec->place) >= IRQ_KINDS)
		return -EBADMSG;
	ret->duration_ns = rec->total_ns;
	ret->thread = rec->thread;
	ret->object[0] = rec->cpu;
	ret->object[1] = IRQ_CPU_OBJECT;
	ret->place = rec->place;
	ret->operation = (uint16_t)IRQ_PLACE_KIND(rec->place);
	ret->values[0].number = rec->own_ns;
	ret->values[1].number = rec->cpu;
	ret->values[2].number = rec->tid;
	ret->values[2].none = !rec->tid;
	ret->values[3].text = rec->tid ? rec->comm : "";
	ret->values[3].none = !rec->tid;
	return 0;
}

static const char *irq_operation(uint32_t operation)
{
	static const char *const names[IRQ_KINDS] = {
		[IRQ_NONE] = "",
		[IRQ_HARD] = "interrupt",
		[IRQ_SOFT] = "softirq",
		[IRQ_VECTOR] = "vector",
	};

	return operation < IRQ_KINDS ? names[operation] : NULL;
}

/* "36 virtio1-req.0": the kernel lists the names of an interrupt's handlers. */
static void name_handlers(uint32_t number, char *ret, size_t size)
{
	char path[64], line[96] = "";
	cleanup(fclose_p) FILE *file = NULL;

	snprintf(path, sizeof(path), "/sys/kernel/irq/%u/actions", number);
	file = fopen(path, "re");
	if (file && fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = '\0';
	snprintf(ret, size, "%u%s%s", number, *line ? " " : "", line);
}

static void irq_place(uint32_t place, char *ret, size_t size)
{
	static const char *const softirqs[IRQ_SOFTIRQS] = { "HI",      "TIMER", "NET_TX",
							    "NET_RX",  "BLOCK", "IRQ_POLL",
							    "TASKLET", "SCHED", "HRTIMER",
							    "RCU" };
	static const char *const vectors[IRQ_VECTORS] = {
		[IRQ_LOCAL_TIMER] = "local_timer",
		[IRQ_RESCHEDULE] = "reschedule",
		[IRQ_CALL_FUNCTION] = "call_function",
		[IRQ_CALL_FUNCTION_SINGLE] = "call_function_single",
		[IRQ_WORK] = "irq_work",
	};
	uint32_t kind = IRQ_PLACE_KIND(place), number = IRQ_PLACE_NUMBER(place);

	if (kind == IRQ_HARD)
		name_handlers(number, ret, size);
	else if (kind == IRQ_SOFT && number < IRQ_SOFTIRQS)
		snprintf(ret, size, "%s", softirqs[number]);
	else if (kind == IRQ_VECTOR && number < IRQ_VECTORS)
		snprintf(ret, size, "%s", vectors[number]);
	else
		snprintf(ret, size, "%u", number);
}

static void irq_object(const __u64 numbers[2], char *ret, size_t size)
{
	snprintf(ret, size, "CPU %llu", numbers[0]);
}

const struct signal irq_signal = {
	.name = "irq",
	.number = SIGNAL_irq,
	.about = "interrupts and softirqs: how many, how long, on which CPU, taken from whom",
	.events = "interrupts",
	.role = ROLE_INTERRUPTS,
	.event_ns = 400,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = irq_prepare,
	.refresh = irq_refresh,
	.decode = irq_decode,
	.operation = irq_operation,
	.place = irq_place,
	.object = irq_object,
	.object_kind = "cpu",
};
