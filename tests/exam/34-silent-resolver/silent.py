# SPDX-License-Identifier: GPL-2.0-or-later
"""Takes the queries of port 53 of an address and never answers."""
import socket
import sys

resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.bind((sys.argv[1], 53))
print("listening", flush=True)
while True:
    query, peer = resolver.recvfrom(1500)
    print(f"query of {len(query)} bytes from {peer[0]}", flush=True)
