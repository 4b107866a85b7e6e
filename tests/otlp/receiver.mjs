/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node receiver.mjs PORT FOLDER: receives OTLP over HTTP and writes each request as FOLDER/N.json. */
import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import zlib from "node:zlib";

import { decode } from "./otlp.mjs";

const [, , port, folder] = process.argv;
let count = 0;

function take(request, body) {
	if (request.method !== "POST" || request.url !== "/v1/metrics") return 404;
	if (request.headers["content-type"] !== "application/x-protobuf") return 415;
	const plain = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(body) : body;
	const file = path.join(folder, `${count++}.json`);

	fs.writeFileSync(`${file}.new`, JSON.stringify(decode(plain)));
	fs.renameSync(`${file}.new`, file);
	return 200;
}

fs.mkdirSync(folder, { recursive: true });
http
	.createServer((request, response) => {
		const parts = [];

		request.on("data", (part) => parts.push(part));
		request.on("end", () => {
			try {
				response.statusCode = take(request, Buffer.concat(parts));
			} catch (error) {
				console.error(error);
				response.statusCode = 400;
			}
			response.setHeader("Content-Type", "application/x-protobuf");
			response.end();
		});
	})
	.listen(Number(port), "127.0.0.1");
