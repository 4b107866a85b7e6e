/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * node pyroscope.mjs PORT FOLDER: takes push.v1 as Pyroscope's documentation and source describe it, and writes each
 * profile as FOLDER/SERVICE.STATE.pb.gz. It is not a Pyroscope: it shows what is sent, not what a server does with it.
 */
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";
import zlib from "node:zlib";

const MOST_BYTES = 4 << 20;
const [, , port, folder] = process.argv;
/* Packages are below the folder in which the test runs. */
const protobuf = createRequire(path.join(process.cwd(), "x.js"))("protobufjs");
const here = path.dirname(fileURLToPath(import.meta.url));
const request = protobuf.loadSync(path.join(here, "push.proto")).lookupType("push.Request");
const isId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

class Refusal extends Error {
	constructor(status, message) {
		super(message);
		this.status = status;
	}
}

function takeSeries({ labels, samples }) {
	const byName = Object.fromEntries(labels.map(({ name, value }) => [name, value]));

	if (!byName.service_name || !/^[a-zA-Z_:]\w*$/.test(byName.__name__)) throw new Refusal(400, "labels");
	for (const { rawProfile, ID } of samples) {
		if (!isId.test(ID)) throw new Refusal(400, `id '${ID}'`);
		if (zlib.gunzipSync(rawProfile).length > MOST_BYTES) throw new Refusal(400, "size");
		fs.writeFileSync(path.join(folder, `${byName.service_name}.${byName.state}.pb.gz`), rawProfile);
	}
}

function take({ method, url, headers }, body) {
	if (method !== "POST" || url !== "/push.v1.PusherService/Push") throw new Refusal(404, "path");
	if (headers["content-type"] !== "application/proto") throw new Refusal(415, "type");
	if (headers["content-encoding"]) throw new Refusal(400, "encoding");
	request.decode(body).series.forEach(takeSeries);
}

fs.mkdirSync(folder, { recursive: true });
http.createServer((question, response) => {
	const parts = [];

	question.on("data", (part) => parts.push(part));
	question.on("end", () => {
		try {
			take(question, Buffer.concat(parts));
			response.writeHead(200, { "Content-Type": "application/proto" }).end();
		} catch (error) {
			response.writeHead(error.status ?? 400, { "Content-Type": "application/json" });
			response.end(JSON.stringify({ code: "invalid_argument", message: error.message }));
		}
	});
}).listen(Number(port), "127.0.0.1");
