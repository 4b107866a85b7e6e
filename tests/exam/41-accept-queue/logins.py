# SPDX-License-Identifier: GPL-2.0-or-later
"""logins.py PORT: one thread accepts a client, checks its password for about 30 ms, and answers."""
import hashlib
import socket
import sys


def check_password(password):
    return hashlib.pbkdf2_hmac("sha256", password, b"salt", 90000)


listener = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=8)
while True:
    client, _ = listener.accept()
    with client:
        check_password(client.recv(100))
        client.sendall(b"ok")
