#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""
shop.py [--compact | --cured] [SECONDS]: a web service that answers questions about the items of a shop, and makes a list of
all of them for others, again and again. Its clients wait long while it makes the list.

--compact makes a list without indentation, which json does in C, several times as fast. --cured makes the list in a
process of its own.
"""
import argparse
import http.server
import json
import multiprocessing
import os
import tempfile
import threading
import time

PORT = 8017
ITEMS = 50000
PAUSE = 1.0  # between two lists

items = [
    {
        "id": number,
        "name": f"item {number}",
        "price": 1 + number % 97 / 100,
        "tags": [f"tag {tag}" for tag in range(number % 7)],
        "stock": {"here": number % 11, "elsewhere": number % 23},
    }
    for number in range(ITEMS)
]


class Shop(http.server.BaseHTTPRequestHandler):
    """GET /NUMBER is one item."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        item = json.dumps(items[int(self.path[1:]) % ITEMS]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(item)))
        self.end_headers()
        self.wfile.write(item)

    def log_message(self, *args):
        pass


def make_list(path, indent):
    text = json.dumps(items, indent=indent)
    with open(path + ".new", "w") as file:
        file.write(text)
    os.rename(path + ".new", path)


def keep_list(path, indent):
    parent = multiprocessing.parent_process()  # None in a thread
    while not parent or parent.is_alive():
        make_list(path, indent)
        time.sleep(PAUSE)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compact", action="store_true")
    parser.add_argument("--cured", action="store_true")
    parser.add_argument("seconds", nargs="?", type=float, default=600)
    options = parser.parse_args()
    worker = multiprocessing.Process if options.cured else threading.Thread
    with tempfile.TemporaryDirectory(prefix="shop-", ignore_cleanup_errors=True) as folder:
        path = os.path.join(folder, "items.json")
        worker(target=keep_list, args=(path, None if options.compact else 1), daemon=True).start()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), Shop)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        time.sleep(options.seconds)


if __name__ == "__main__":
    main()
