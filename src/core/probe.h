/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by probe.bpf.c and probes.c. */
#pragma once

#define PROBE_LOOP_TURNS 1000
