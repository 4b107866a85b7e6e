/* Shared by probe.bpf.c and probes.c. */
#pragma once

#define PROBE_LOOP_TURNS 1000
