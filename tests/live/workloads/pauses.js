/* SPDX-License-Identifier: GPL-2.0-or-later */
// Collections while --trace-gc is on, which writes a line about each of them to stdout. Collects garbage until it is told to
// begin. What it says itself goes to descriptor 3.
'use strict';
const fs = require('fs');
const v8 = require('v8');
const vm = require('vm');
const kept = [];
let marks;

function now() {
  return Number(process.hrtime.bigint());
}

// One of 16 objects lives for long.
function allocate(count) {
  for (let i = 0; i < count; i++) {
    const some = { at: i, next: [i, i + 1, { of: kept.length }] };
    if (i % 16 === 0)
      kept[(i / 16) % 400000] = some;
  }
}

function run() {
  clearInterval(marks);
  v8.setFlagsFromString('--trace-gc');
  const begin = now();
  for (let i = 0; i < 6; i++) {
    allocate(1000000);
    globalThis.collect();
    globalThis.collect();
  }
  const end = now();
  v8.setFlagsFromString('--no-trace-gc');
  fs.writeSync(3, `{"begin_ns": ${begin}, "end_ns": ${end}}\n`);
  process.stdin.destroy();
}

v8.setFlagsFromString('--expose-gc');
globalThis.collect = vm.runInNewContext('gc');
marks = setInterval(globalThis.collect, 50);
process.stdin.once('data', run).once('end', () => process.exit());
fs.writeSync(3, 'ready\n');
