/* SPDX-License-Identifier: GPL-2.0-or-later */
'use strict';
// What v8-*.memory were recorded of: a thread that sleeps below functions of each kind.
const word = new Int32Array(new SharedArrayBuffer(4));

function nap(milliseconds) {
	// Compiled code is thrown away at a place that it has never seen before.
	Atomics.wait(word, 0, milliseconds ? 0 : 1, milliseconds);
	return milliseconds;
}

const leaf = (milliseconds) => nap(milliseconds) + 1;

class Shop {
	middle(milliseconds) {
		return leaf(milliseconds) + 1;
	}
	static outer(shop, milliseconds) {
		return shop.middle(milliseconds) + 1;
	}
}

function baseline(shop, milliseconds) {
	return Shop.outer(shop, milliseconds) + 1;
}

function функция(milliseconds) {
	const shop = new Shop();

	%NeverOptimizeFunction(функция);
	%PrepareFunctionForOptimization(nap);
	%PrepareFunctionForOptimization(leaf);
	%PrepareFunctionForOptimization(shop.middle);
	%PrepareFunctionForOptimization(Shop.outer);
	for (let i = 0; i < 10; i++)
		Shop.outer(shop, 0);
	%OptimizeFunctionOnNextCall(Shop.outer);
	Shop.outer(shop, 0);
	%NeverOptimizeFunction(baseline);
	%CompileBaseline(baseline);
	return [milliseconds].map((each) => baseline(shop, each));
}

process.stdout.write('ready\n');
функция(1000000);
