/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node receiver.mjs PORT FOLDER [TLS TOKEN]: receives OTLP over HTTP and writes each request as FOLDER/N.json. With a folder
 * TLS, clients need a certificate of TLS/ca.pem and the token.
 */
import fs from "node:fs";
import http from "node:http";
import https from "node:https";
import path from "node:path";
import zlib from "node:zlib";

import { decode } from "./otlp.mjs";

const [, , port, folder, tls, token] = process.argv;
let count = 0;

function take(request, body) {
	if (request.method !== "POST" || request.url !== "/v1/metrics") return 404;
	if (token && request.headers.authorization !== `Bearer ${token}`) return 401;
	if (request.headers["content-type"] !== "application/x-protobuf") return 415;
	const plain = request.headers["content-encoding"] === "gzip" ? zlib.gunzipSync(body) : body;
	const file = path.join(folder, `${count++}.json`);

	fs.writeFileSync(`${file}.new`, JSON.stringify(decode(plain)));
	fs.renameSync(`${file}.new`, file);
	return 200;
}

function answer(request, response) {
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
}

function withTls() {
	const [ca, cert, key] = ["ca.pem", "server.pem", "server.key"].map((name) => fs.readFileSync(path.join(tls, name)));

	return https.createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true }, answer);
}

fs.mkdirSync(folder, { recursive: true });
(tls ? withTls() : http.createServer(answer)).listen(Number(port), "127.0.0.1");
