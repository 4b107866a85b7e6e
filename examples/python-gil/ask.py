#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
ask.py [SECONDS]: asks shop.py for items over four connections, 25 times a second each, and prints how long the answers
took.
"""
import http.client
import socket
import sys
import threading
import time

PORT = 8017
CONNECTIONS = 4
EVERY = 0.04

seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10
took = []


def await_shop():
    while True:
        try:
            return socket.create_connection(("127.0.0.1", PORT)).close()
        except ConnectionRefusedError:
            time.sleep(0.1)


def ask(first):
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    due = time.perf_counter() + first * EVERY / CONNECTIONS
    end = due + seconds
    while due < end:
        time.sleep(max(0, due - time.perf_counter()))
        asked = time.perf_counter()
        connection.request("GET", f"/{len(took)}")
        connection.getresponse().read()
        took.append(1000 * (time.perf_counter() - asked))
        due += EVERY


await_shop()
threads = [threading.Thread(target=ask, args=(number,)) for number in range(CONNECTIONS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
took.sort()
shown = ", ".join(f"p{percent} {took[len(took) * percent // 100]:.1f}" for percent in (50, 90, 99))
print(f"{len(took)} answers, in ms: average {sum(took) / len(took):.1f}, {shown}, max {took[-1]:.1f}")
