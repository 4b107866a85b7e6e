/* SPDX-License-Identifier: GPL-2.0-or-later */
// server.js PORT: prints by how much the event loop was late at most in the last second.
const http = require('http');
let last = Date.now();
let worst = 0;

function blockLoop() {
  const end = Date.now() + 300;
  let sum = 0;
  while (Date.now() < end)
    for (let i = 0; i < 1000; i++) sum += Math.sqrt(sum + i);
  return sum;
}

setInterval(() => {
  worst = Math.max(worst, Date.now() - last - 20);
  last = Date.now();
}, 20);
setInterval(() => {
  console.log(`late by ${worst} ms`);
  worst = 0;
}, 1000);

http.createServer((request, response) => {
  if (request.url === '/report') blockLoop();
  response.end('ok\n');
}).listen(Number(process.argv[2]), '127.0.0.1');
