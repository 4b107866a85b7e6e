# SPDX-License-Identifier: GPL-2.0-or-later
# Stacks of a known shape: two threads go down 60 calls, some of them through C, and there run, sleep, wait for a lock and
# for a socket. test_runtimes_stacks.c knows the lines. Runs until it is killed.
import socket
import sys
import threading
import time

DEPTH = 60
taken = threading.Lock()


def echo(end):
    while True:
        end.send(end.recv(1))


def burn(end):
    until = time.perf_counter() + 0.004
    total = 0
    while time.perf_counter() < until:
        for i in range(100):
            total += i ^ (total & 7)


def nap(end):
    time.sleep(0.001)


def want(end):
    taken.acquire(True, 0.001)


def ask(end):
    end.send(b"x")
    end.recv(1)


def through(step):
    return down(step[0], step[1], step[2])


def once(depth, bottom, end):
    yield down(depth, bottom, end)


def down(depth, bottom, end):
    if depth == 0:
        bottom(end)
    elif depth % 10 == 0:
        sorted([(depth - 1, bottom, end)], key=through)
    elif depth % 10 == 5:
        list(once(depth - 1, bottom, end))
    else:
        down(depth - 1, bottom, end)


def top():
    here, there = socket.socketpair()
    threading.Thread(target=echo, args=(there,), daemon=True).start()
    while True:
        for bottom in burn, nap, want, ask:
            down(DEPTH, bottom, here)


taken.acquire()
threading.Thread(target=top, daemon=True).start()
print("ready", flush=True)
top()
