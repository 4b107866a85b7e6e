/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of folios in the page cache. */
#pragma once

#include "bpf/common.h"

/* `folio` may be any pointer: it is read with BPF_CORE_READ, which cannot fault. */
static __always_inline __u32 pages_in(struct folio *folio)
{
	struct folio___memdesc *memdesc = (void *)folio;
	struct folio___old *old = (void *)folio;
	unsigned long flags = bpf_core_field_exists(memdesc->flags.f)
				      ? BPF_CORE_READ(memdesc, flags.f)
				      : BPF_CORE_READ(folio, flags);

	if (!(flags & 1UL << bpf_core_enum_value(enum pageflags, PG_head)))
		return 1;
	if (bpf_core_field_exists(old->_folio_nr_pages))
		return BPF_CORE_READ(old, _folio_nr_pages);
	return BPF_CORE_READ(folio, _nr_pages);
}
