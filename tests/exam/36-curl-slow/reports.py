# SPDX-License-Identifier: GPL-2.0-or-later
"""reports.py PORT: an HTTP server whose report takes 2 s, because it waits for nothing but a clock."""
import http.server
import sys
import time


def compute_report():
    time.sleep(2)
    return b"report\n"


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        report = compute_report()
        self.send_response(200)
        self.send_header("Content-Length", str(len(report)))
        self.end_headers()
        self.wfile.write(report)

    def log_message(self, *args):
        pass


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
