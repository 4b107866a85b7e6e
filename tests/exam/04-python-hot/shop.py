# SPDX-License-Identifier: GPL-2.0-or-later
"""shop.py PORT: a web worker with one hot function; prints that function's share of the time."""

import http.server
import sys
import time

spent = 0.0
printed = time.monotonic()


def apply_discounts(basket):
    total = 0.0
    for number, price in basket:
        for rule in range(60):
            total += price * 0.97 if number * rule % 7 == 3 else price
    return total


class Shop(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else the second of two small writes waits for an ACK, which hides everything else.
    disable_nagle_algorithm = True

    def do_GET(self):
        global spent, printed
        start = time.monotonic()
        body = b"%d\n" % apply_discounts([(i, 10 + i % 7) for i in range(200)])
        end = time.monotonic()
        spent += end - start
        if end - printed > 1:
            print(f"{100 * spent / (end - printed):.0f} % of the time in apply_discounts")
            spent, printed = 0.0, end
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *unused):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()
