# SPDX-License-Identifier: GPL-2.0-or-later
"""clients.py PORT: 14 clients that log in again and again."""
import socket
import sys
import threading


def log_in():
    while True:
        try:
            with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20) as server:
                server.sendall(b"secret")
                server.recv(2)
        except OSError:
            pass


for _ in range(14):
    threading.Thread(target=log_in).start()
