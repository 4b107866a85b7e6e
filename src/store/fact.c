/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows refer to workloads by id. The store's rows repeat the service and the version, because that
 * is what questions ask for, and sorted words cost nearly nothing on disk. The workload is looked
 * up again for each column: a hash look-up costs less than rows with room for all names.
 */
#include "store/fact.h"

#include <string.h>

#include "vocabulary/states.h"

#define VALUE(field, expression)                                                                   \
	((struct native_value) {                                                                   \
		.field = (expression),                                                             \
	})
/* Defines get_NAME(): the value of a column of a row of the type. */
#define GETTER(name, row_type, field, expression)                                                  \
	static struct native_value get_##name(const void *at, const void *context_at)              \
	{                                                                                          \
		const row_type *row = at;                                                          \
		const struct fact_context *context = context_at;                                   \
                                                                                                   \
		(void)row;                                                                         \
		(void)context;                                                                     \
		return VALUE(field, expression);                                                   \
	}
/* The compared fields differ: return. */
#define ORDER_TEXT(a, b)                                                                           \
	do {                                                                                       \
		int order_ = strcmp(a, b);                                                         \
		if (order_)                                                                        \
			return order_;                                                             \
	} while (0)
#define ORDER_NUMBER(a, b)                                                                         \
	do {                                                                                       \
		if ((a) != (b))                                                                    \
			return (a) < (b) ? -1 : 1;                                                 \
	} while (0)

static const struct workload *find(const struct fact_context *context, uint64_t id)
{
	return id && context->find ? context->find(context->find_context, id) : NULL;
}

static const char *service_of(const struct fact_context *context, uint64_t id)
{
	const struct workload *workload = find(context, id);

	if (!id)
		return "";
	return workload ? workload->service : FACT_UNKNOWN;
}

static const char *version_of(const struct fact_context *context, uint64_t id)
{
	const struct workload *workload = find(context, id);

	return workload ? workload->version : "";
}

static bool has_tenant(const void *at)
{
	const struct fact_context *context = at;

	return *context->host->tenant != '\0';
}

/* --- columns of every table --- */
GETTER(bucket, void, number, context->bucket_s)
GETTER(tenant, void, text, context->host->tenant)
GETTER(host_id, void, number, context->host->host_id)

#define BUCKET  { "bucket", NATIVE_DATETIME, get_bucket, NULL }
#define TENANT  { "tenant", NATIVE_STRING, get_tenant, has_tenant }
#define HOST_ID { "host_id", NATIVE_UINT64, get_host_id, NULL }

/* --- ledger --- */
GETTER(ledger_service, struct bucket_row, text, service_of(context, row->key.workload))
GETTER(ledger_version, struct bucket_row, text, version_of(context, row->key.workload))
GETTER(ledger_workload, struct bucket_row, number, row->key.workload)
GETTER(ledger_threads, struct bucket_row, text, row->key.threads)
GETTER(ledger_state, struct bucket_row, text, states__words(row->key.slot)->state)
GETTER(ledger_cause, struct bucket_row, text, states__words(row->key.slot)->cause)
GETTER(ledger_kind, struct bucket_row, text, kinds__words(row->key.kind)->key)
GETTER(ledger_object, struct bucket_row, text, row->key.object)
GETTER(ledger_by_service, struct bucket_row, text, row->key.by_service)
GETTER(ledger_by_threads, struct bucket_row, text, row->key.by_threads)
GETTER(ledger_evidence, struct bucket_row, text, states__evidence(row->key.evidence))
GETTER(ledger_ns, struct bucket_row, number, row->ns)
GETTER(ledger_count, struct bucket_row, number, row->count)
GETTER(ledger_thread_ns, struct bucket_row, number, row->thread_ns)
GETTER(ledger_unexplained_ns, struct bucket_row, number, row->unexplained_ns)

static const struct native_column ledger_columns[] = {
	BUCKET,
	TENANT,
	{ "service", NATIVE_STRING, get_ledger_service, NULL },
	{ "version", NATIVE_STRING, get_ledger_version, NULL },
	HOST_ID,
	{ "workload_id", NATIVE_UINT64, get_ledger_workload, NULL },
	{ "threads", NATIVE_STRING, get_ledger_threads, NULL },
	{ "state", NATIVE_STRING, get_ledger_state, NULL },
	{ "cause", NATIVE_STRING, get_ledger_cause, NULL },
	{ "kind", NATIVE_STRING, get_ledger_kind, NULL },
	{ "object", NATIVE_STRING, get_ledger_object, NULL },
	{ "by_service", NATIVE_STRING, get_ledger_by_service, NULL },
	{ "by_threads", NATIVE_STRING, get_ledger_by_threads, NULL },
	{ "evidence", NATIVE_STRING, get_ledger_evidence, NULL },
	{ "ns", NATIVE_UINT64, get_ledger_ns, NULL },
	{ "count", NATIVE_UINT32, get_ledger_count, NULL },
	{ "thread_ns", NATIVE_UINT64, get_ledger_thread_ns, NULL },
	{ "unexplained_ns", NATIVE_UINT64, get_ledger_unexplained_ns, NULL },
};

static int compare_slots(uint8_t slot, uint8_t other)
{
	ORDER_TEXT(states__words(slot)->state, states__words(other)->state);
	return strcmp(states__words(slot)->cause, states__words(other)->cause);
}

/* The key of the table, then what makes equal columns neighbours, which compresses better. */
static int compare_ledger(const void *a, const void *b, void *context)
{
	const struct bucket_row *row = a, *other = b;
	int order;

	ORDER_TEXT(service_of(context, row->key.workload),
		   service_of(context, other->key.workload));
	order = compare_slots(row->key.slot, other->key.slot);
	if (order)
		return order;
	ORDER_NUMBER(row->key.workload, other->key.workload);
	ORDER_TEXT(row->key.threads, other->key.threads);
	ORDER_NUMBER(row->key.kind, other->key.kind);
	ORDER_TEXT(row->key.object, other->key.object);
	ORDER_TEXT(row->key.by_service, other->key.by_service);
	ORDER_TEXT(row->key.by_threads, other->key.by_threads);
	ORDER_NUMBER(row->key.evidence, other->key.evidence);
	return 0;
}

/* --- workload --- */
GETTER(workload_service, struct workload, text, row->service)
GETTER(workload_id, struct workload, number, row->id)
GETTER(workload_cluster, struct workload, text, context->host->cluster)
GETTER(workload_host, struct workload, text, context->host->name)
GETTER(workload_version, struct workload, text, row->version)
GETTER(workload_namespace, struct workload, text, row->namespace_name)
GETTER(workload_pod, struct workload, text, row->pod)
GETTER(workload_container, struct workload, text, row->container)
GETTER(workload_container_id, struct workload, text, row->container_id)
GETTER(workload_cgroup, struct workload, text, row->cgroup)
GETTER(workload_unit, struct workload, text, row->unit)
GETTER(workload_image, struct workload, text, row->image)
GETTER(workload_kernel, struct workload, text, context->host->kernel)
GETTER(workload_machine, struct workload, text, context->host->machine)
GETTER(workload_cpus, struct workload, number, context->host->cpus)
GETTER(workload_first_seen, struct workload, number, row->first_seen_s)
GETTER(workload_last_seen, struct workload, number, row->last_seen_s)

static const struct native_column workload_columns[] = {
	TENANT,
	{ "service", NATIVE_STRING, get_workload_service, NULL },
	{ "workload_id", NATIVE_UINT64, get_workload_id, NULL },
	{ "cluster", NATIVE_STRING, get_workload_cluster, NULL },
	{ "host", NATIVE_STRING, get_workload_host, NULL },
	HOST_ID,
	{ "version", NATIVE_STRING, get_workload_version, NULL },
	{ "namespace", NATIVE_STRING, get_workload_namespace, NULL },
	{ "pod", NATIVE_STRING, get_workload_pod, NULL },
	{ "container", NATIVE_STRING, get_workload_container, NULL },
	{ "container_id", NATIVE_STRING, get_workload_container_id, NULL },
	{ "cgroup", NATIVE_STRING, get_workload_cgroup, NULL },
	{ "unit", NATIVE_STRING, get_workload_unit, NULL },
	{ "image", NATIVE_STRING, get_workload_image, NULL },
	{ "kernel", NATIVE_STRING, get_workload_kernel, NULL },
	{ "machine", NATIVE_STRING, get_workload_machine, NULL },
	{ "cpus", NATIVE_UINT16, get_workload_cpus, NULL },
	{ "first_seen", NATIVE_DATETIME, get_workload_first_seen, NULL },
	{ "last_seen", NATIVE_DATETIME, get_workload_last_seen, NULL },
};

static int compare_workloads(const void *a, const void *b, void *context)
{
	const struct workload *row = a, *other = b;

	ORDER_TEXT(row->service, other->service);
	ORDER_NUMBER(row->id, other->id);
	return 0;
}

/* --- quality --- */
GETTER(quality_name, struct fact_quality, text, row->name)
GETTER(quality_value, struct fact_quality, number, row->value)

static const struct native_column quality_columns[] = {
	BUCKET,
	TENANT,
	HOST_ID,
	{ "name", NATIVE_STRING, get_quality_name, NULL },
	{ "value", NATIVE_UINT64, get_quality_value, NULL },
};

static int compare_quality(const void *a, const void *b, void *context)
{
	const struct fact_quality *row = a, *other = b;

	return strcmp(row->name, other->name);
}

/* --- histograms --- */
GETTER(histogram_service, struct fact_histogram, text, service_of(context, row->workload))
GETTER(histogram_version, struct fact_histogram, text, version_of(context, row->workload))
GETTER(histogram_signal, struct fact_histogram, text, row->signal)
GETTER(histogram_measure, struct fact_histogram, text, row->measure)
GETTER(histogram_place, struct fact_histogram, text, row->place)
GETTER(histogram_operation, struct fact_histogram, text, row->operation)
GETTER(histogram_sum, struct fact_histogram, number, row->sum)
GETTER(histogram_max, struct fact_histogram, number, row->max)

static struct native_value get_histogram_buckets(const void *at, const void *context)
{
	const struct fact_histogram *row = at;

	return (struct native_value) { .keys = row->buckets,
				       .list = row->counts,
				       .count = row->bucket_count };
}

static const struct native_column histogram_columns[] = {
	BUCKET,
	TENANT,
	{ "service", NATIVE_STRING, get_histogram_service, NULL },
	{ "version", NATIVE_STRING, get_histogram_version, NULL },
	HOST_ID,
	{ "signal", NATIVE_STRING, get_histogram_signal, NULL },
	{ "measure", NATIVE_STRING, get_histogram_measure, NULL },
	{ "place", NATIVE_STRING, get_histogram_place, NULL },
	{ "operation", NATIVE_STRING, get_histogram_operation, NULL },
	{ "buckets", NATIVE_MAP, get_histogram_buckets, NULL },
	{ "sum", NATIVE_UINT64, get_histogram_sum, NULL },
	{ "max", NATIVE_UINT64, get_histogram_max, NULL },
};

static int compare_histograms(const void *a, const void *b, void *context)
{
	const struct fact_histogram *row = a, *other = b;

	ORDER_TEXT(service_of(context, row->workload), service_of(context, other->workload));
	ORDER_TEXT(row->signal, other->signal);
	ORDER_TEXT(row->measure, other->measure);
	ORDER_TEXT(row->place, other->place);
	ORDER_TEXT(row->operation, other->operation);
	return strcmp(version_of(context, row->workload), version_of(context, other->workload));
}

/* --- samples --- */
GETTER(sample_service, struct fact_sample, text, service_of(context, row->workload))
GETTER(sample_version, struct fact_sample, text, version_of(context, row->workload))
GETTER(sample_workload, struct fact_sample, number, row->workload)
GETTER(sample_state, struct fact_sample, text, states__words(row->slot)->state)
GETTER(sample_cause, struct fact_sample, text, states__words(row->slot)->cause)
GETTER(sample_kind, struct fact_sample, text, kinds__words(row->kind)->key)
GETTER(sample_stack, struct fact_sample, number, row->stack)
GETTER(sample_waker_stack, struct fact_sample, number, row->waker_stack)
GETTER(sample_ns, struct fact_sample, number, row->ns)
GETTER(sample_ns2, struct fact_sample, real, row->ns2)
GETTER(sample_n, struct fact_sample, number, row->n)

static const struct native_column sample_columns[] = {
	BUCKET,
	TENANT,
	{ "service", NATIVE_STRING, get_sample_service, NULL },
	{ "version", NATIVE_STRING, get_sample_version, NULL },
	HOST_ID,
	{ "workload_id", NATIVE_UINT64, get_sample_workload, NULL },
	{ "state", NATIVE_STRING, get_sample_state, NULL },
	{ "cause", NATIVE_STRING, get_sample_cause, NULL },
	{ "kind", NATIVE_STRING, get_sample_kind, NULL },
	{ "stack", NATIVE_UINT64, get_sample_stack, NULL },
	{ "waker_stack", NATIVE_UINT64, get_sample_waker_stack, NULL },
	{ "ns", NATIVE_UINT64, get_sample_ns, NULL },
	{ "ns2", NATIVE_FLOAT32, get_sample_ns2, NULL },
	{ "n", NATIVE_UINT32, get_sample_n, NULL },
};

static int compare_samples(const void *a, const void *b, void *context)
{
	const struct fact_sample *row = a, *other = b;

	ORDER_TEXT(service_of(context, row->workload), service_of(context, other->workload));
	ORDER_TEXT(states__words(row->slot)->state, states__words(other->slot)->state);
	ORDER_NUMBER(row->stack, other->stack);
	return compare_slots(row->slot, other->slot);
}

/* --- stacks and modules --- */
GETTER(stack_stack, struct fact_stack, number, row->stack)

static struct native_value get_stack_modules(const void *at, const void *context)
{
	const struct fact_stack *row = at;

	return (struct native_value) { .list = row->modules, .count = row->depth };
}

static struct native_value get_stack_offsets(const void *at, const void *context)
{
	const struct fact_stack *row = at;

	return (struct native_value) { .list = row->offsets, .count = row->depth };
}

static const struct native_column stack_columns[] = {
	{ "stack", NATIVE_UINT64, get_stack_stack, NULL },
	{ "modules", NATIVE_LIST, get_stack_modules, NULL },
	{ "offsets", NATIVE_LIST, get_stack_offsets, NULL },
	{ "last_seen", NATIVE_DATE, get_bucket, NULL },
};

static int compare_stacks(const void *a, const void *b, void *context)
{
	const struct fact_stack *row = a, *other = b;

	ORDER_NUMBER(row->stack, other->stack);
	return 0;
}

GETTER(module_module, struct fact_module, number, row->module)
GETTER(module_build_id, struct fact_module, text, row->build_id)
GETTER(module_kind, struct fact_module, text, row->kind)
GETTER(module_path, struct fact_module, text, row->path)
GETTER(module_size, struct fact_module, number, row->size)
GETTER(module_first_seen, struct fact_module, number, row->first_seen_s)
GETTER(module_last_seen, struct fact_module, number, row->last_seen_s)

static const struct native_column module_columns[] = {
	{ "module", NATIVE_UINT64, get_module_module, NULL },
	{ "build_id", NATIVE_STRING, get_module_build_id, NULL },
	{ "kind", NATIVE_STRING, get_module_kind, NULL },
	{ "path", NATIVE_STRING, get_module_path, NULL },
	{ "size", NATIVE_UINT64, get_module_size, NULL },
	{ "first_seen", NATIVE_DATE, get_module_first_seen, NULL },
	{ "last_seen", NATIVE_DATETIME, get_module_last_seen, NULL },
};

static int compare_modules(const void *a, const void *b, void *context)
{
	const struct fact_module *row = a, *other = b;

	ORDER_NUMBER(row->module, other->module);
	return 0;
}

#define TABLE(name, columns, type, sum_of, compare)                                                \
	{ name, columns, sizeof(columns) / sizeof(*(columns)), sizeof(type), compare, sum_of }

static const struct native_table tables[FACT_TABLES] = {
	[FACT_LEDGER] = TABLE("ledger", ledger_columns, struct bucket_row, "ns", compare_ledger),
	[FACT_WORKLOAD] =
		TABLE("workload", workload_columns, struct workload, NULL, compare_workloads),
	[FACT_QUALITY] =
		TABLE("quality", quality_columns, struct fact_quality, "value", compare_quality),
	[FACT_HISTOGRAMS] = TABLE("histograms", histogram_columns, struct fact_histogram, "sum",
				  compare_histograms),
	[FACT_SAMPLES] =
		TABLE("samples", sample_columns, struct fact_sample, "ns", compare_samples),
	[FACT_STACKS] = TABLE("stacks", stack_columns, struct fact_stack, NULL, compare_stacks),
	[FACT_MODULES] =
		TABLE("modules", module_columns, struct fact_module, NULL, compare_modules),
};

const struct native_table *fact__table(enum fact_table table)
{
	return &tables[table];
}

enum fact_table fact__find(const char *name)
{
	int table = 0;

	while (table < FACT_TABLES && strcmp(tables[table].name, name) != 0)
		table++;
	return (enum fact_table)table;
}

bool fact__can_be_counted(enum fact_table table)
{
	return table != FACT_WORKLOAD && table != FACT_STACKS && table != FACT_MODULES;
}

int fact__encode(enum fact_table table, const struct fact_context *context, const void *rows,
		 size_t count, size_t most_bytes, native_emit_fn emit, void *emit_context)
{
	return native__encode(&tables[table], rows, count, context, most_bytes, emit, emit_context);
}
