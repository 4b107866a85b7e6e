# SPDX-License-Identifier: GPL-2.0-or-later
# Collections of each generation, with what gc.callbacks says of them. Collects garbage until it is told to begin.
import gc
import json
import select
import sys
import time

ROUNDS = 120
KEPT = 100000
counts, times = [0, 0, 0], [0, 0, 0]
since = 0


def now():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def note(phase, info):
    global since
    if phase == "start":
        since = now()
    else:
        times[info["generation"]] += now() - since
        counts[info["generation"]] += 1


def pair():
    one, other = [], []
    one.append(other)
    other.append(one)
    return one


gc.disable()
kept = [pair() for _ in range(KEPT)]
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0.05)[0]:
    gc.collect()
gc.callbacks.append(note)
gc.set_threshold(50000, 4, 4)
begin = now()
gc.enable()
for at in range(ROUNDS):
    for _ in range(10000):
        pair()
    for _ in range(3 if at % 30 == 29 else 0):
        gc.collect()
gc.disable()
end = now()
rows = [{"operation": "generation %d" % i, "count": counts[i], "ns": times[i]} for i in range(3)]
for row in [{"count": sum(counts), "ns": sum(times)}] + rows:
    print(json.dumps(dict(row, place="gc", begin_ns=begin, end_ns=end)))
