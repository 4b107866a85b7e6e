/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cgroup of a thread, and cgroups that come and go. User space reads /proc/PID/cgroup too late:
 * most processes of a busy machine are gone by then. In cgroup v1 a thread is in one cgroup of each
 * hierarchy; user space chooses one, that of the memory controller.
 */
#pragma once

#include "ledger/kernel/describe.bpf.h"

const volatile bool with_cgroups;
const volatile __u32 cgroup_hierarchy; /* as in /proc/cgroups; 0: cgroup v2 */

/*
 * The id of a cgroup is the inode of its folder. A thread that is past cgroup_exit() still refers
 * to its last cgroups.
 */
static __always_inline __u64 cgroup_of(struct task_struct *task)
{
	struct cgroup_subsys_state *state = NULL;
	struct css_set *set;

	if (!with_cgroups)
		return 0;
	set = BPF_CORE_READ(task, cgroups);
	if (!cgroup_hierarchy)
		return BPF_CORE_READ(set, dfl_cgrp, kn, id);
	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return 0;
	bpf_probe_read_kernel(&state, sizeof(state),
			      (void *)set + bpf_core_field_offset(struct css_set, subsys) +
				      bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id) *
					      sizeof(state));
	return BPF_CORE_READ(state, cgroup, kn, id);
}

static __always_inline int send_cgroup(struct cgroup *cgroup, const char *path, __u32 is_gone)
{
	struct ledger_cgroup_record *record;

	if (BPF_CORE_READ(cgroup, root, hierarchy_id) != (int)cgroup_hierarchy)
		return 0;
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
		return 0;
	}
	wire_head_init(&record->head, sizeof(*record), LEDGER_CGROUP, 1);
	record->id = BPF_CORE_READ(cgroup, kn, id);
	record->is_gone = is_gone;
	record->pad = 0;
	if (bpf_probe_read_kernel_str(record->path, sizeof(record->path), path) < 0)
		record->path[0] = '\0';
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_cgroup_mkdir, struct cgroup *cgroup, const char *path)
{
	return send_cgroup(cgroup, path, 0);
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_cgroup_rmdir, struct cgroup *cgroup, const char *path)
{
	return send_cgroup(cgroup, path, 1);
}
