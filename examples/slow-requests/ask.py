# SPDX-License-Identifier: GPL-2.0-or-later
# ask.py SECONDS: eight customers ask for orders, one of 50 times for an invoice. Says how long they waited.
import http.client
import random
import sys
import threading
import time

until = time.monotonic() + float(sys.argv[1])
took = []


def ask(seed):
    choose = random.Random(seed)
    shop = http.client.HTTPConnection('127.0.0.1', 18201)
    while time.monotonic() < until:
        path = f'/orders/{choose.randint(1, 19000)}'
        if choose.randrange(50) == 0:
            path += '/invoice'
        begin = time.monotonic()
        shop.request('GET', path)
        shop.getresponse().read()
        took.append((time.monotonic() - begin) * 1000)
        time.sleep(choose.expovariate(20))


threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
took.sort()
print(f'{len(took)} answers, in ms: p50 {took[len(took) // 2]:.1f}, p90 {took[len(took) * 9 // 10]:.1f},'
      f' p99 {took[len(took) * 99 // 100]:.1f}, max {took[-1]:.1f}')
