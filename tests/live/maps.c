/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "maps.h"

#include "../harness.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#define INSN(CODE, DST, SRC, OFF, IMM)                                                             \
	(struct bpf_insn)                                                                          \
	{                                                                                          \
		.code = (CODE), .dst_reg = (DST), .src_reg = (SRC), .off = (OFF), .imm = (IMM)     \
	}

static int create(enum bpf_map_type type, uint32_t key, uint32_t value, uint32_t most,
		  uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(type, "test", key, value, most, &opts);

	if (fd < 0)
		fail_msg("bpf_map_create: %s", strerror(-fd));
	return fd;
}

/* Sends the 32 bytes of its arguments: user space alone cannot write into such a ring. */
static int load_ask(int ring_fd)
{
	struct bpf_insn insns[16];
	size_t n = 0;
	int fd;

	for (short i = 0; i < 4; i++) {
		insns[n++] = INSN(BPF_LDX | BPF_MEM | BPF_DW, 2, 1, i * 8, 0);
		insns[n++] = INSN(BPF_STX | BPF_MEM | BPF_DW, 10, 2, i * 8 - 32, 0);
	}
	insns[n++] = INSN(BPF_LD | BPF_IMM | BPF_DW, 1, BPF_PSEUDO_MAP_FD, 0, ring_fd);
	insns[n++] = INSN(0, 0, 0, 0, 0);
	insns[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, 10, 0, 0);
	insns[n++] = INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -32);
	insns[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 32);
	insns[n++] = INSN(BPF_ALU64 | BPF_MOV | BPF_K, 4, 0, 0, 0);
	insns[n++] = INSN(BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_ringbuf_output);
	insns[n++] = INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
	fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "ask", "GPL", insns, n, NULL);
	if (fd < 0)
		fail_msg("bpf_prog_load: %s", strerror(-fd));
	return fd;
}

void world__open(struct world *world, uint64_t budget_bytes)
{
	int err;

	*world = (struct world) {
		.options = {
			.processes_fd = create(BPF_MAP_TYPE_HASH, sizeof(uint32_t),
					       sizeof(struct unwind_process), 4096,
					       BPF_F_NO_PREALLOC),
			.pages_fd = create(BPF_MAP_TYPE_HASH, sizeof(uint64_t),
					   sizeof(struct unwind_page), 65536, BPF_F_NO_PREALLOC),
			.asked_fd = create(BPF_MAP_TYPE_LRU_HASH, sizeof(uint64_t), 1, 4096, 0),
			.requests_fd = create(BPF_MAP_TYPE_RINGBUF, 0, 0, 65536, 0),
			.budget_bytes = budget_bytes,
		},
	};
	world->ask_fd = load_ask(world->options.requests_fd);
	err = mapper__new(&world->options, &world->mapper);
	if (err)
		fail_msg("mapper__new: %s", strerror(-err));
}

void world__close(struct world *world)
{
	mapper__free(world->mapper);
	close(world->ask_fd);
	close(world->options.processes_fd);
	close(world->options.pages_fd);
	close(world->options.asked_fd);
	close(world->options.requests_fd);
}

void world__ask(struct world *world, enum unwind_need need, uint32_t id)
{
	struct unwind_request request = {
		.head = { .size = sizeof(request), .kind = (uint16_t)need },
		.id = id,
	};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .ctx_in = &request, .ctx_size_in = sizeof(request));
	uint64_t key = UNWIND_ASKED(need, id);

	assert_int_equal(
		bpf_map_update_elem(world->options.asked_fd, &key, &(uint8_t) { 1 }, BPF_ANY), 0);
	assert_int_equal(bpf_prog_test_run_opts(world->ask_fd, &opts), 0);
	assert_int_equal(opts.retval, 0);
}

bool world__was_asked(struct world *world, enum unwind_need need, uint32_t id)
{
	uint64_t key = UNWIND_ASKED(need, id);
	uint8_t value;

	return !bpf_map_lookup_elem(world->options.asked_fd, &key, &value);
}

bool world__process(struct world *world, pid_t pid, struct unwind_process *ret)
{
	return !bpf_map_lookup_elem(world->options.processes_fd, &pid, ret);
}

uint32_t world__maps(struct world *world, pid_t pid, const char *path)
{
	struct unwind_process process;

	if (!world__process(world, pid, &process))
		return 0;
	for (uint32_t i = 0; i < process.count; i++) {
		uint32_t id = process.mappings[i].page_and_module & UNWIND_MODULE_MASK;
		struct mapper_module module;

		assert_int_equal(mapper__module(world->mapper, id, &module), 0);
		if (!strcmp(module.path, path))
			return id;
	}
	return 0;
}

bool world__has_rows(struct world *world, uint32_t module)
{
	static struct unwind_page page;
	uint64_t key = UNWIND_KEY(module, 0);

	return !bpf_map_lookup_elem(world->options.pages_fd, &key, &page);
}
