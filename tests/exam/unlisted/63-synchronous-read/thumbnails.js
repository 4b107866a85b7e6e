/* SPDX-License-Identifier: GPL-2.0-or-later */
/* thumbnails.js PORT FILE: answers each request with a block of FILE. */
const fs = require("fs");
const http = require("http");
const catalog = fs.openSync(process.argv[3], "r");
const blocks = fs.fstatSync(catalog).size / 4096;

function readThumbnail() {
	const block = Buffer.alloc(4096);
	fs.readSync(catalog, block, 0, 4096, Math.floor(Math.random() * blocks) * 4096);
	return block;
}

http.createServer((request, response) => {
	response.end(readThumbnail());
}).listen(Number(process.argv[2]), "127.0.0.1");
