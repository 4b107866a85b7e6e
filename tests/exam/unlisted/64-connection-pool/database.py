# SPDX-License-Identifier: GPL-2.0-or-later
"""database.py PORT: answers each byte after 50 ms."""
import socketserver
import sys
import time


class Session(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(1):
            time.sleep(0.05)
            self.request.sendall(b"r")


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


Server(("127.0.0.1", int(sys.argv[1])), Session).serve_forever()
