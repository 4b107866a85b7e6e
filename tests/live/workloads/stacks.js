/* SPDX-License-Identifier: GPL-2.0-or-later */
// As stacks.py: every tenth call goes through Array.prototype.sort, and another tenth through forEach. The outermost
// function is async: it goes on after waiting in the event loop. Runs until it is killed.
'use strict';
const DEPTH = 60;
const word = new Int32Array(new SharedArrayBuffer(4));
let total = 0;

function burn() {
  const until = Date.now() + 4;
  while (Date.now() < until)
    for (let i = 0; i < 100; i++)
      total = (total + (i ^ (total & 7))) | 0;
}

function want() {
  Atomics.wait(word, 0, 0, 1);
}

function order(a, b) {
  down(a[0], a[1]);
  return 0;
}

function through(step) {
  down(step[0], step[1]);
}

function down(depth, bottom) {
  if (depth === 0)
    bottom();
  else if (depth % 10 === 0)
    [[depth - 1, bottom], [depth - 1, bottom]].sort(order);
  else if (depth % 10 === 5)
    [[depth - 1, bottom]].forEach(through);
  else
    down(depth - 1, bottom);
}

async function top() {
  for (;;) {
    for (const bottom of [burn, want])
      down(DEPTH, bottom);
    await new Promise((done) => setTimeout(done, 1));
  }
}

top();
setTimeout(() => console.log('ready'), 500);
