# SPDX-License-Identifier: GPL-2.0-or-later
# Prints for functions of many shapes which line each part of their bytecode has, as the interpreter
# itself says, and waits. record_python.c records what gapless reads of it.
import dis
import re
import sys
import time

SOURCES = [
    ("/srv/plain.py", "def plain(x):\n    return x\n"),
    ("/srv/far.py", "def far(x):\n    x += 1\n" + "\n" * 300 + "    x -= 1\n    return x\n"),
    ("/srv/back.py", "def back(x):\n    for i in range(\n        x\n    ):\n        x = max(\n"
     "            i,\n            min(x, i)\n        )\n    return x\n"),
    ("/srv/long.py", "def long(x):\n    return [" + "x + 1, " * 150 + "]\n"),
    ("/srv/late.py", "\n" * 70000 + "def late():\n    with open('x') as f:\n        return f\n"),
    ("/srv/größe.py", "def größe():\n    return 1\n"),
    ("/srv/名前.py", "def 名前():\n    return 1\n"),
    ("/srv/\U0001d518.py", "def astral():\n    return 1\n"),
    ("/srv/\udcff.py", "def odd():\n    yield 1\n"),
    ("/srv/class.py", "class Shop:\n    def sell(self):\n        return (lambda: 1)()\n"),
]


def inside(code):
    for constant in code.co_consts:
        if hasattr(constant, "co_code"):
            yield constant
            yield from inside(constant)


def lines(code):
    """(offset, line) at both ends of each piece; a line of 0: none."""
    if hasattr(code, "co_lines"):
        for begin, end, line in code.co_lines():
            if end > begin:
                yield begin, line or 0
                yield end - 2, line or 0
        return
    starts = list(dis.findlinestarts(code))
    ends = [start for start, _ in starts[1:]] + [len(code.co_code)]
    for (start, line), end in zip(starts, ends):
        yield start, line
        yield end - 2, line


kept = []
for file, source in SOURCES:
    for code in inside(compile(source, file, "exec")):
        kept.append(code)
        name = getattr(code, "co_qualname", code.co_name)
        shown = re.sub("[\ud800-\udfff]", "\ufffd", file)
        for offset, line in sorted(set(lines(code)))[:24]:
            text = "frame %x %x %d %d %s %s\n" % (id(code), offset, line, code.co_firstlineno,
                                                  name.replace(" ", "_"), shown)
            sys.stdout.buffer.write(text.encode())
sys.stdout.buffer.write(b"end\n")
sys.stdout.flush()
time.sleep(600)
