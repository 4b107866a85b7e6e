# SPDX-License-Identifier: GPL-2.0-or-later
"""feed.py PORT: needs 50 ms for each record."""

import socketserver
import sys
import time


class Feed(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1):
            time.sleep(0.05)
            self.request.sendall(b"r" * 64)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Feed).serve_forever()
