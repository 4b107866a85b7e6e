/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "signals/drops/drops.h"

#include <bpf/btf.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "core/series.h"
#include "core/signal.h"

#define REASON_PREFIX "SKB_DROP_REASON_"
#define REASONS_KEPT  256

DEFINE_CLEANUP(struct btf *, btf__free)

static const struct hook hooks[] = {
	{ "kfree_skb", { "drops_on_free" } },
	{},
};

static const struct measure measures[] = { { "size", "bytes" }, {} };

static const struct column columns[] = { {} };

static const char *drops_operation(uint32_t operation)
{
	static const char *const names[DROPS_OPERATIONS] = {
		[DROPS_OTHER] = "other",
		[DROPS_IPV4] = "IPv4",
		[DROPS_IPV6] = "IPv6",
	};

	return operation < DROPS_OPERATIONS ? names[operation] : NULL;
}

void drops__word(const char *name, char *ret, size_t size)
{
	size_t i;

	if (!strncmp(name, REASON_PREFIX, strlen(REASON_PREFIX)))
		name += strlen(REASON_PREFIX);
	for (i = 0; name[i] && i + 1 < size; i++)
		ret[i] = name[i] == '_' ? ' ' : (char)tolower((unsigned char)name[i]);
	if (size)
		ret[i] = '\0';
}

/* The kernel's enum; NULL: it has none, or no BTF. */
static const struct btf_type *find_reasons(const struct btf *btf)
{
	int id = btf ? btf__find_by_name_kind(btf, "skb_drop_reason", BTF_KIND_ENUM) : -1;

	return id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
}

/* The name of this value; NULL: none. */
static const char *name_of(const struct btf *btf, uint32_t reason)
{
	const struct btf_type *type = find_reasons(btf);

	for (int i = 0; type && i < btf_vlen(type); i++)
		if ((uint32_t)btf_enum(type)[i].val == reason)
			return btf__name_by_offset(btf, btf_enum(type)[i].name_off);
	return NULL;
}

/* 0 if the kernel has no such value. */
static uint32_t value_of(const struct btf *btf, const char *name)
{
	const struct btf_type *type = find_reasons(btf);

	for (int i = 0; type && i < btf_vlen(type); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_enum(type)[i].name_off), name))
			return (uint32_t)btf_enum(type)[i].val;
	return 0;
}

static int drops_prepare(struct bpf_object *object, const struct hook_use *uses)
{
	cleanup(btf__free_p) struct btf *btf = btf__load_vmlinux_btf();
	size_t size = 0;
	struct drops_knobs *knobs = series__section(object, ".rodata.drops", &size);

	if (!btf)
		return -errno;
	if (!knobs || size != sizeof(*knobs))
		return -EPROTO;
	*knobs = (struct drops_knobs) { .none = value_of(btf, "SKB_NOT_DROPPED_YET"),
					.consumed = value_of(btf, "SKB_CONSUMED") };
	return 0;
}

struct reason {
	uint32_t number;
	char word[64];
};

/* A module's own reasons have its number in the upper half. */
static void look_up(uint32_t number, struct reason *ret)
{
	cleanup(btf__free_p) struct btf *btf = btf__load_vmlinux_btf();
	const char *name = btf ? name_of(btf, number) : NULL;

	ret->number = number;
	if (name)
		drops__word(name, ret->word, sizeof(ret->word));
	else
		snprintf(ret->word, sizeof(ret->word), "reason %u:%u", number >> 16,
			 number & 0xffff);
}

/* Kept, because it takes milliseconds to read the kernel's types. 0 is no reason. */
static void drops_place(uint32_t place, char *ret, size_t size)
{
	static struct reason kept[REASONS_KEPT];
	struct reason *entry = &kept[place % REASONS_KEPT];

	if (entry->number != place)
		look_up(place, entry);
	snprintf(ret, size, "%s", entry->word);
}

/* The kernel half sends no records. */
static int drops_decode(const void *bytes, size_t size, struct event *ret)
{
	return -EBADMSG;
}

const struct signal drops_signal = {
	.name = "drops",
	.number = SIGNAL_drops,
	.about = "packets that the kernel dropped, by reason",
	.events = "packets",
	.event_ns = 300,
	.hooks = hooks,
	.measures = measures,
	.columns = columns,
	.prepare = drops_prepare,
	.decode = drops_decode,
	.operation = drops_operation,
	.place = drops_place,
};
