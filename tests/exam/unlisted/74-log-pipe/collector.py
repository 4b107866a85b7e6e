# SPDX-License-Identifier: GPL-2.0-or-later
"""collector.py PORT: takes lines and confirms each, after 15 ms."""

import socketserver
import sys
import time


class Collector(socketserver.StreamRequestHandler):
    def handle(self):
        while self.rfile.readline():
            time.sleep(0.015)
            self.wfile.write(b"ok\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Collector).serve_forever()
