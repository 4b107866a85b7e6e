# SPDX-License-Identifier: GPL-2.0-or-later
"""clients.py PORT: eight clients with fast requests, two with slow ones; prints the fast ones' median."""
import socket
import statistics
import sys
import threading
import time

fast = []


def ask(word, pause):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
        answers = server.makefile("rb")
        while True:
            start = time.monotonic()
            server.sendall(word)
            if not answers.readline():
                return
            if word == b"fast\n":
                fast.append(time.monotonic() - start)
            time.sleep(pause)


for number in range(10):
    threading.Thread(target=ask, args=(b"slow\n", 0.1) if number < 2 else (b"fast\n", 0.01), daemon=True).start()
while True:
    time.sleep(1)
    if fast:
        print(f"fast_ms={1e3 * statistics.median(fast):.0f}", flush=True)
    fast.clear()
