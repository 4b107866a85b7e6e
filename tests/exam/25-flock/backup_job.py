# SPDX-License-Identifier: GPL-2.0-or-later
"""backup_job.py FILE: keeps a lock until 3 s after somebody else has begun to wait for it."""

import fcntl
import os
import sys
import time


def is_wanted(inode):
    with open("/proc/locks") as locks:
        return any("->" in lock and f":{inode} " in lock for lock in locks)


with open("/proc/self/comm", "w") as name:
    name.write("backup_job")
lock = os.open(sys.argv[1], os.O_RDWR)
while True:
    fcntl.flock(lock, fcntl.LOCK_EX)
    print("locked")
    while not is_wanted(os.fstat(lock).st_ino):
        time.sleep(0.01)
    time.sleep(3)
    fcntl.flock(lock, fcntl.LOCK_UN)
    time.sleep(0.3)
