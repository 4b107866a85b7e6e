# SPDX-License-Identifier: GPL-2.0-or-later
"""inventory.py PORT: a database that answers a query after 40 ms, each connection for itself."""

import socketserver
import sys
import time


class Inventory(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            time.sleep(0.04)
            self.wfile.write(b"r" * 64)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Inventory).serve_forever()
