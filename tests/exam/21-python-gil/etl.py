# SPDX-License-Identifier: GPL-2.0-or-later
"""Two threads that never pause; together, they have no more than one CPU."""

import threading
import time


def parse_rows():
    while True:
        total = 0
        for i in range(20000):
            total += i * i


def score_rows():
    while True:
        total = 0
        for i in range(20000):
            total ^= i * 3


for function in (parse_rows, score_rows):
    threading.Thread(target=function, daemon=True).start()
while True:
    before = time.process_time()
    time.sleep(1)
    print(f"{time.process_time() - before:.2f} s of CPU time")
