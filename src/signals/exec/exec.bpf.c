/*
 * Programs started, at sched_process_exec: it fires once per successful execve, in the context of
 * the new image, where a syscall hook would see failed tries and the old name.
 */
#include "bpf/common.h"

#define SERIES_USED 1

#include "bpf/identity.bpf.h"
#include "signals/exec/exec.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} ring SEC(".maps");

static __always_inline int started(struct task_struct *task, const char *file)
{
	struct exec_record *record;
	struct task_struct *parent;
	struct identity who;

	if (!is_wanted_now(&who))
		return 0;
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		count_lost(LOST_RING_FULL);
		return 0;
	}
	wire_head_init(&record->head, sizeof(*record), 0, 1);
	parent = BPF_CORE_READ(task, real_parent);
	record->thread = who.id;
	record->pid = BPF_CORE_READ(task, tgid);
	record->parent_pid = BPF_CORE_READ(parent, tgid);
	BPF_CORE_READ_STR_INTO(&record->parent_comm, parent, comm);
	if (bpf_probe_read_kernel_str(record->file, sizeof(record->file), file) < 0)
		record->file[0] = '\0';
	bpf_ringbuf_submit(record, 0);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_btf, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	return started(task, bprm->filename);
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_exec_raw, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	return started(task, BPF_CORE_READ(bprm, filename));
}

SEC("tp/sched/sched_process_exec")
int on_exec_tp(struct trace_event_raw_sched_process_exec *ctx)
{
	__u32 at = BPF_CORE_READ(ctx, __data_loc_filename) & 0xffff;

	return started((struct task_struct *)bpf_get_current_task(), (const char *)ctx + at);
}
