# SPDX-License-Identifier: GPL-2.0-or-later
"""auth.py PORT: gives out tokens; each takes 80 ms."""

import socketserver
import sys
import time


class Auth(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            time.sleep(0.08)
            self.wfile.write(b"t" * 32)


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Auth).serve_forever()
