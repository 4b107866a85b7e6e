# SPDX-License-Identifier: GPL-2.0-or-later
# hog.py SECONDS: the main thread never gives the GIL up by itself; three others want it for microseconds.
import sys
import threading
import time

end = time.monotonic() + float(sys.argv[1])


def want():
    while time.monotonic() < end:
        time.sleep(0.0005)


def hog():
    while time.monotonic() < end:
        sum(i * i for i in range(100))


for _ in range(3):
    threading.Thread(target=want).start()
print('{"ready": true}', flush=True)
hog()
