/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shim.mjs PORT FOLDER [KEY CERTIFICATE]: ClickHouse's engine (chDB) behind as much of its HTTP interface as the sender
 * uses. One query at a time. With KEY and CERTIFICATE it speaks TLS. STORE_PASSWORD in the environment: the password
 * that every request must have.
 */
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';

const { Session } = createRequire(import.meta.url)('chdb');
const [port, folder, key, certificate] = process.argv.slice(2);
const session = new Session(folder);
const upload = `${folder}.upload`;

function literal(value)
{
	return /^\d+$/.test(value) ? value : `'${value.replace(/[\\']/g, '\\$&')}'`;
}

/* INSERT … FORMAT Native, with the settings of the URL. */
function insert(statement, body, encoding, settings)
{
	fs.writeFileSync(upload, body);
	if (settings.length)
		session.query(`SET ${settings.map(([name, value]) => `${name} = ${literal(value)}`).join(', ')}`);
	const compression = encoding === 'zstd' ? 'zstd' : 'none';
	session.query(statement.replace(/FORMAT Native$/, `FROM INFILE '${upload}' COMPRESSION '${compression}' FORMAT Native`));
	return '';
}

function answer(request, body)
{
	const parameters = [...new URL(request.url, 'http://localhost').searchParams];
	const settings = parameters.filter(([name]) => name !== 'query');
	const query = (parameters.find(([name]) => name === 'query') ?? ['', ''])[1];

	if (process.env.STORE_PASSWORD && request.headers['x-clickhouse-key'] !== process.env.STORE_PASSWORD)
		throw new Error('Code: 516. DB::Exception: Authentication failed');
	if (/^INSERT.*FORMAT Native$/s.test(query))
		return insert(query, body, request.headers['content-encoding'], settings);
	return session.query(query + body.toString(), 'TabSeparated');
}

function serve(request, response)
{
	const parts = [];

	request.on('data', part => parts.push(part));
	request.on('end', () => {
		try {
			response.setHeader('X-ClickHouse-Summary', '{}');
			response.end(answer(request, Buffer.concat(parts)));
		} catch (error) {
			const code = /Code: (\d+)/.exec(error.message)?.[1] ?? '1000';

			response.statusCode = { 60: 404, 81: 404, 516: 403 }[code] ?? 500;
			response.setHeader('X-ClickHouse-Exception-Code', code);
			response.end(`${error.message}\n`);
		}
	});
}

const server = key ?
	https.createServer({ key: fs.readFileSync(key), cert: fs.readFileSync(certificate) }, serve) :
	http.createServer(serve);
server.listen(Number(port), '127.0.0.1', () => console.log('ready'));
