# SPDX-License-Identifier: GPL-2.0-or-later
# Native code below the interpreter: a JSON parser, a regular expression, a sort that calls back, a hash.
import hashlib
import json
import re
import time

WORDS = ["word%d" % (i * 7919 % 1000) for i in range(2000)]
TEXT = " ".join(WORDS)

while True:
    json.loads(json.dumps(WORDS))
    re.findall(r"w\w+d(\d)1", TEXT)
    sorted(WORDS, key=lambda word: word[::-1])
    hashlib.sha256(TEXT.encode() * 20).digest()
    time.sleep(0.002)
