/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ledger/windows/reader.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "ledger/reader/attach_internal.h"
#include "ledger/windows/reader_internal.h"
#include "vocabulary/calls.h"

/* Only calls are windows. */
static int leave_out_requests(const struct ledger_bpf *skel)
{
	bpf_program__set_autoload(skel->progs.windows_on_enter, false);
	bpf_program__set_autoload(skel->progs.windows_on_exit, false);
	bpf_program__set_autoload(skel->progs.windows_on_frames, false);
	bpf_program__set_autoload(skel->progs.windows_on_readable, false);
	bpf_program__set_autoload(skel->progs.windows_on_readable_entry, false);
	return bpf_map__set_max_entries(skel->maps.windows_sockets, 1) |
	       bpf_map__set_max_entries(skel->maps.windows_request_headers, 1);
}

int ledger_windows__set_knobs(struct ledger *ledger, const struct ledger_options *options)
{
	struct ledger_bpf *skel = ledger->skel;
	uint8_t bytes[CALL_NUMBERS];

	skel->rodata->with_windows = options->requests || options->calls;
	skel->rodata->with_requests = options->requests;
	skel->rodata->without_text = options->no_window_text;
	calls__bytes(bytes);
	memcpy((void *)skel->rodata->bytes_of, bytes, sizeof(bytes));
	if (!skel->rodata->with_windows)
		return parts__leave_out(skel->obj, "windows");
	if (!options->requests && leave_out_requests(skel))
		return -EINVAL;
	return bpf_map__set_max_entries(skel->maps.windows_bands,
					(uint32_t)ledger->cpus * WINDOW_BANDS);
}

static int put_program(const struct bpf_map *array, uint32_t place,
		       const struct bpf_program *program)
{
	int fd = bpf_program__fd(program);

	return bpf_map_update_elem(bpf_map__fd(array), &place, &fd, BPF_ANY);
}

int ledger_windows__attach(struct ledger *ledger)
{
	const struct ledger_bpf *skel = ledger->skel;
	int err;

	if (!skel->rodata->with_requests)
		return 0;
	err = put_program(skel->maps.windows_enter, 0, skel->progs.windows_on_enter);
	if (!err)
		err = put_program(skel->maps.windows_exit, 0, skel->progs.windows_on_exit);
	if (!err)
		err = put_program(skel->maps.windows_exit, 1, skel->progs.windows_on_frames);
	return err;
}

bool ledger_windows__are_on(const struct ledger *ledger)
{
	return ledger->skel->rodata->with_windows;
}

bool ledger_windows__sees_readable(const struct ledger *ledger)
{
	for (size_t i = 0; i < ledger->hook_count; i++)
		if (!strcmp(ledger->uses[i].event, "sk_data_ready"))
			return ledger->uses[i].program;
	return false;
}

const struct window_band *ledger_windows__bands(const struct ledger *ledger, int cpu)
{
	const struct window_band *all = ledger->bands;

	return all + (size_t)cpu * WINDOW_BANDS;
}

/* As in kept.bpf.h. */
struct band_info {
	uint32_t class, bucket, period, offered;
};

bool ledger_windows__band(const struct ledger *ledger, uint32_t band, uint32_t *ret_class,
			  uint32_t *ret_bucket)
{
	const struct band_info *infos = ledger->band_infos;
	uint32_t last = *(volatile uint32_t *)&ledger->skel->bss->windows_last_band;

	if (band > last || band >= WINDOW_BANDS)
		return false;
	*ret_class = infos[band].class;
	*ret_bucket = infos[band].bucket;
	return true;
}

void ledger_windows__next_period(struct ledger *ledger, const uint64_t *slow_ns)
{
	memcpy(ledger->skel->bss->windows_slow_ns, slow_ns, WINDOW_CLASSES * sizeof(*slow_ns));
	memset(ledger->skel->bss->windows_slow_sent, 0,
	       sizeof(ledger->skel->bss->windows_slow_sent));
	__atomic_fetch_add(&ledger->skel->bss->windows_period, 1, __ATOMIC_SEQ_CST);
}

int ledger_windows__sweep(struct ledger *ledger, uint64_t before_ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int err;

	ledger->skel->bss->windows_sweep_before = before_ns;
	err = bpf_prog_test_run_opts(bpf_program__fd(ledger->skel->progs.windows_sweep), &run);
	return err ? -errno : 0;
}

uint64_t ledger_windows__count(const struct ledger *ledger, enum window_count which)
{
	return ledger->skel->bss->windows_counts[which];
}
