# SPDX-License-Identifier: GPL-2.0-or-later
"""files.py PORT: serves the current folder, one client after the other."""
import http.server
import sys

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler).serve_forever()
