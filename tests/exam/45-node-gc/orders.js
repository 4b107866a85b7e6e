/* SPDX-License-Identifier: GPL-2.0-or-later */
/* orders.js PORT: keeps 400,000 orders alive and replaces 3,000 of them per request. */
const http = require("http");
const live = new Array(400000);
let at = 0;

function makeOrder(id) {
	return { id, name: "order " + id, lines: [{ item: id }, { item: id + 1 }] };
}

function handleOrders() {
	for (let i = 0; i < 3000; i++) {
		at = (at * 1103515245 + 12345) % live.length;
		live[at] = makeOrder(i);
	}
}

for (let i = 0; i < live.length; i++)
	live[i] = makeOrder(i);
http.createServer((request, response) => {
	handleOrders();
	response.end("ok");
}).listen(Number(process.argv[2]), "127.0.0.1");
