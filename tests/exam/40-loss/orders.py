# SPDX-License-Identifier: GPL-2.0-or-later
"""orders.py listen|send ADDRESS PORT: orders of 2,000 bytes, each acknowledged before the next is sent."""
import socket
import sys
import time

ORDER = 2000


def acknowledge(listener):
    while True:
        client, _ = listener.accept()
        pending = 0
        while data := client.recv(4096):
            pending += len(data)
            while pending >= ORDER:
                pending -= ORDER
                client.sendall(b"ok")


def send_order(server):
    server.sendall(b"o" * ORDER)
    return server.recv(2)


def send(server):
    began = shown = time.monotonic()
    slow = count = 0
    while True:
        start = time.monotonic()
        if not send_order(server):
            sys.exit("connection closed")
        end = time.monotonic()
        count += 1
        slow += end - start if end - start > 0.1 else 0
        if end - shown > 0.5:
            shown = end
            print(f"orders={count} slow_percent={100 * slow / (end - began):.0f}", flush=True)


address = (sys.argv[2], int(sys.argv[3]))
if sys.argv[1] == "listen":
    acknowledge(socket.create_server(address))
else:
    send(socket.create_connection(address))
