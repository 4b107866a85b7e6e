# SPDX-License-Identifier: GPL-2.0-or-later
"""fetch.py URL: fetches a report."""
import sys
import urllib.request


def fetch_report(url):
    with urllib.request.urlopen(url) as answer:
        return answer.read()


print(fetch_report(sys.argv[1]))
