# SPDX-License-Identifier: GPL-2.0-or-later
"""import_job.py DATABASE: keeps the database locked until 3 s after somebody else has opened it."""

import ctypes
import os
import sqlite3
import sys
import time

IN_OPEN = 0x20

with open("/proc/self/comm", "w") as name:
    name.write("import_job")
database = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
libc = ctypes.CDLL(None)
while True:
    database.execute("BEGIN EXCLUSIVE")
    opened = libc.inotify_init()
    libc.inotify_add_watch(opened, os.fsencode(sys.argv[1]), IN_OPEN)
    print("locked")
    os.read(opened, 4096)
    os.close(opened)
    time.sleep(3)
    database.execute("COMMIT")
    time.sleep(0.5)
