/* SPDX-License-Identifier: GPL-2.0-or-later */
// JIT code, native code of the runtime, and waiting.
const zlib = require("zlib");
const words = Array.from({ length: 2000 }, (_, i) => `word${(i * 7919) % 1000}`);

function round() {
	JSON.parse(JSON.stringify(words));
	words.slice().sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
	zlib.deflateSync(words.join(" "));
	setTimeout(round, 2);
}
round();
