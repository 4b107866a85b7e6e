# SPDX-License-Identifier: GPL-2.0-or-later
"""deploy.py PORT: a service that is told of new commits and needs 2.5 s for each."""
import http.server
import sys
import time


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(2.5)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
