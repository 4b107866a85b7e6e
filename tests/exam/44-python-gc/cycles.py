# SPDX-License-Identifier: GPL-2.0-or-later
"""Makes objects that refer to each other, so that only the cyclic collector can free them."""
import gc
import time


class Node:
    __slots__ = ("other",)


def build_cycles(count):
    for _ in range(count):
        first, second = Node(), Node()
        first.other, second.other = second, first


spent = runs = began = 0


def watch(phase, _):
    global spent, runs, began
    if phase == "start":
        began = time.perf_counter()
    else:
        spent += time.perf_counter() - began
        runs += 1


gc.callbacks.append(watch)
gc.set_threshold(700, 5, 1)
while True:
    start, spent, runs = time.perf_counter(), 0, 0
    while (wall := time.perf_counter() - start) < 1:
        build_cycles(2000)
    print(f"gc_percent={100 * spent / wall:.0f} runs={runs}", flush=True)
