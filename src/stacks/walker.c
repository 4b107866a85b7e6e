/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stacks/walker.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/map.h"

#define WINDOW_BYTES 4096

struct walker {
	int processes_fd, pages_fd;
	struct map pages; /* copies, by key */
	struct unwind_process process;
	uint32_t pid; /* of `process` and of the window; 0: none */
	bool known;
	uint64_t window_at; /* 0: empty */
	uint8_t window[WINDOW_BYTES];
};

/* Reads of a walk are close to each other, so each system call reads a whole page of the stack. */
static int fill_window(struct walker *walker, uint64_t address)
{
	uint64_t at = address & ~(uint64_t)(WINDOW_BYTES - 1);
	struct iovec local = { walker->window, WINDOW_BYTES };
	struct iovec remote = { (void *)(uintptr_t)at, WINDOW_BYTES };

	if (walker->window_at == at)
		return 0;
	walker->window_at = 0;
	if (process_vm_readv((pid_t)walker->pid, &local, 1, &remote, 1, 0) != WINDOW_BYTES)
		return -EFAULT;
	walker->window_at = at;
	return 0;
}

static int unwind_read(void *world, void *to, __u32 bytes, __u64 address)
{
	struct walker *walker = world;

	while (bytes) {
		uint32_t offset = address & (WINDOW_BYTES - 1);
		uint32_t part = WINDOW_BYTES - offset < bytes ? WINDOW_BYTES - offset : bytes;

		if (address + part < address || fill_window(walker, address))
			return -EFAULT;
		memcpy(to, walker->window + offset, part);
		to = (uint8_t *)to + part;
		address += part;
		bytes -= part;
	}
	return 0;
}

static const struct unwind_page *unwind_page(void *world, __u64 key)
{
	struct walker *walker = world;
	struct unwind_page *page = map__get(&walker->pages, key);

	if (page)
		return page;
	page = malloc(sizeof(*page));
	if (!page)
		return NULL;
	if (bpf_map_lookup_elem(walker->pages_fd, &key, page) ||
	    map__put(&walker->pages, key, page)) {
		free(page);
		return NULL;
	}
	return page;
}

#define UNWIND_FN static
#include "bpf/unwind_walk.h"

int walker__new(int processes_fd, int pages_fd, struct walker **ret)
{
	struct walker *walker = calloc(1, sizeof(*walker));

	if (!walker)
		return -ENOMEM;
	walker->processes_fd = processes_fd;
	walker->pages_fd = pages_fd;
	*ret = walker;
	return 0;
}

void walker__free(struct walker *walker)
{
	if (!walker)
		return;
	map__free_values(&walker->pages);
	free(walker);
}

void walker__refresh(struct walker *walker)
{
	walker->pid = 0;
}

static void use_process(struct walker *walker, uint32_t pid)
{
	if (walker->pid == pid)
		return;
	walker->pid = pid;
	walker->known = !bpf_map_lookup_elem(walker->processes_fd, &pid, &walker->process);
}

bool walker__find_code(struct walker *walker, uint32_t pid, uint64_t pc, uint64_t *ret_begin,
		       uint64_t *ret_end)
{
	use_process(walker, pid);
	for (uint32_t i = 0; walker->known && i < walker->process.count; i++) {
		const struct unwind_mapping *mapping = &walker->process.mappings[i];
		uint64_t page = mapping->page_and_module >> UNWIND_MODULE_BITS;

		if (pc >> UNWIND_PAGE_SHIFT < page ||
		    (pc >> UNWIND_PAGE_SHIFT) - page >= mapping->pages)
			continue;
		*ret_begin = page << UNWIND_PAGE_SHIFT;
		*ret_end = (page + mapping->pages) << UNWIND_PAGE_SHIFT;
		return true;
	}
	return false;
}

void walker__walk(struct walker *walker, uint32_t pid, const struct walker_registers *registers,
		  struct unwind *ret)
{
	use_process(walker, pid);
	walker->window_at = 0;
	unwind_begin(ret, pid, registers->pc, registers->sp, registers->bp);
	ret->beside.thread_pointer = registers->thread_pointer;
	memset(ret->registers, 0, sizeof(ret->registers));
	ret->registers[ARCH_DWARF_FP] = registers->bp;
	ret->registers[ARCH_DWARF_SP] = registers->sp;
#if ARCH_LINK_REGISTER
	ret->registers[ARCH_DWARF_LINK] = registers->link;
#endif
	for (int i = 0; i < STACK_MOST_FRAMES; i++)
		if (unwind_frame(walker, ret, walker->known ? &walker->process : NULL))
			break;
	unwind_find_fiber(walker, ret, walker->known ? &walker->process : NULL);
	unwind_finish(ret);
}
