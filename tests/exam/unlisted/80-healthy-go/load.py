# SPDX-License-Identifier: GPL-2.0-or-later
"""load.py PORT: 4 clients, each with a request every 50 ms on a connection of its own; prints how long answers take."""
import http.client
import statistics
import sys
import threading
import time

took = []


def client(number):
    connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    due = time.monotonic() + number * 0.0125
    while True:
        time.sleep(max(0, due - time.monotonic()))
        due += 0.05
        start = time.monotonic()
        connection.request("GET", "/")
        connection.getresponse().read()
        took.append(time.monotonic() - start)


for i in range(4):
    threading.Thread(target=client, args=(i,), daemon=True).start()
while True:
    time.sleep(1)
    last, took = took, []
    if not last:
        sys.exit("no answers")
    print(f"{len(last)} answers, median {statistics.median(last) * 1e3:.2f} ms, longest {max(last) * 1e3:.2f} ms")
