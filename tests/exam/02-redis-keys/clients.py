# SPDX-License-Identifier: GPL-2.0-or-later
"""clients.py PORT: one client lists all keys every 100 ms, four others ask for one key each and measure how long it takes."""

import socket
import sys
import threading
import time

longest = 0.0


def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))


def list_keys():
    connection = connect()
    while True:
        connection.sendall(b"KEYS *\r\n")
        # The number of keys, then two lines for each.
        lines = connection.recv(1 << 20)
        left = 1 + 2 * int(lines[1:].split(b"\r\n")[0]) - lines.count(b"\n")
        while left > 0:
            left -= connection.recv(1 << 20).count(b"\n")
        time.sleep(0.1)


def get():
    global longest
    connection = connect()
    while True:
        start = time.monotonic()
        connection.sendall(b"GET key:1\r\n")
        connection.recv(100)
        longest = max(longest, time.monotonic() - start)
        time.sleep(0.01)


for client in [list_keys] + 4 * [get]:
    threading.Thread(target=client, daemon=True).start()
while True:
    time.sleep(1)
    print(f"longest GET {longest * 1e3:.0f} ms", flush=True)
    longest = 0.0
