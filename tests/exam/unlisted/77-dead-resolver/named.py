# SPDX-License-Identifier: GPL-2.0-or-later
"""named.py ADDRESS NAME ANSWER: a name server that knows one IPv4 address, and answers at once."""
import socket
import struct
import sys

address, name, answer = sys.argv[1:]
known = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind((address, 53))
print("listening")
while True:
    query, client = server.recvfrom(512)
    end = query.index(b"\0", 12) + 5
    question = query[12:end]
    kind = struct.unpack(">H", question[-4:-2])[0]
    is_known = question[:-4].lower() == known
    has_answer = is_known and kind == 1
    record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + socket.inet_aton(answer) if has_answer else b""
    server.sendto(query[:2] + struct.pack(">HHHHH", 0x8580 if is_known else 0x8583, 1, int(has_answer), 0, 0) + question + record, client)
