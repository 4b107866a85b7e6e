/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What makes the picture answer. Everything it needs is in the picture: nothing is loaded. */
(function () {
	'use strict';
	const svg = document.currentScript.closest('svg');
	const NS = 'http://www.w3.org/2000/svg', XHTML = 'http://www.w3.org/1999/xhtml';
	const HINT = 'click a frame to zoom, / to search, Esc to go back';
	const MARGIN = 12, CHARACTER = 6.65, EPSILON = 2e-5;
	const pane = svg.querySelector('#frames'), line = svg.querySelector('#details');
	const height = parseFloat(svg.getAttribute('height'));
	const frames = Array.from(svg.querySelectorAll('.f'), (g) => {
		const rect = g.querySelector('rect'), title = g.querySelector('title').textContent;

		return { g, rect, title, text: g.querySelector('text'), name: title.split('\n')[0],
			x: parseFloat(rect.getAttribute('x')), w: parseFloat(rect.getAttribute('width')),
			y: parseFloat(rect.getAttribute('y')) };
	});
	let zoomed = null, found = '';

	function make(parent, name, attributes) {
		const made = document.createElementNS(NS, name);

		for (const key of Object.keys(attributes))
			made.setAttribute(key, attributes[key]);
		return parent.appendChild(made);
	}

	/* As much of the name as has room. */
	function fit(frame, x, w, width) {
		const room = Math.floor((w / 100 * width - 6) / CHARACTER);

		if (!frame.text && room >= 3)
			frame.text = make(frame.g, 'text', { y: frame.y + 13, dx: 3 });
		if (!frame.text)
			return;
		frame.text.setAttribute('x', x + '%');
		frame.text.textContent = room < 3 ? '' :
			frame.name.length <= room ? frame.name : frame.name.slice(0, room - 1) + '…';
	}

	function layout() {
		const width = Math.max(200, svg.getBoundingClientRect().width - 2 * MARGIN);
		const x = zoomed ? zoomed.x : 0, w = zoomed ? zoomed.w : 100;

		pane.setAttribute('width', width);
		for (const frame of frames) {
			const inside = frame.x >= x - EPSILON && frame.x + frame.w <= x + w + EPSILON &&
				(!zoomed || frame.y >= zoomed.y);
			const above = zoomed && frame.y < zoomed.y && frame.x <= x + EPSILON &&
				frame.x + frame.w >= x + w - EPSILON;
			const left = above ? 0 : (frame.x - x) / w * 100;
			const wide = above ? 100 : frame.w / w * 100;

			frame.g.style.display = inside || above ? '' : 'none';
			frame.g.classList.toggle('above', Boolean(above));
			if (!inside && !above)
				continue;
			frame.rect.setAttribute('x', left + '%');
			frame.rect.setAttribute('width', wide + '%');
			fit(frame, left, wide, width);
		}
		place();
	}

	/* The line of details stays in sight, at the bottom of the window. */
	function place() {
		const top = svg.getBoundingClientRect().top;
		const seen = Math.min(height, Math.max(60, window.innerHeight - top));

		line.setAttribute('transform', 'translate(0,' + (seen - 26) + ')');
	}

	function say(words) {
		line.querySelector('text').textContent = words;
	}

	/* The share of the whole that lies in frames that match; nested ones count once. */
	function share(matches) {
		let end = 0, sum = 0;

		for (const frame of matches.sort((a, b) => a.x - b.x)) {
			sum += Math.max(0, frame.x + frame.w - Math.max(end, frame.x));
			end = Math.max(end, frame.x + frame.w);
		}
		return sum;
	}

	function search(words) {
		let pattern = null, matches = [];

		found = words;
		try {
			pattern = words && new RegExp(words, 'i');
		} catch (error) {
			pattern = new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i');
		}
		for (const frame of frames) {
			const match = Boolean(pattern) && pattern.test(frame.name);

			frame.g.classList.toggle('match', match);
			if (match)
				matches.push(frame);
		}
		svg.classList.toggle('searching', Boolean(words));
		say(words ? '“' + words + '”: ' + matches.length + ' frames, ' +
			share(matches).toFixed(1) + ' % of the whole' : HINT);
	}

	function reset() {
		zoomed = null;
		input.value = '';
		search('');
		input.blur();
		layout();
	}

	const box = make(svg, 'foreignObject', { y: 12, width: 300, height: 30, class: 'tools' });
	const form = document.createElementNS(XHTML, 'div');
	const input = document.createElementNS(XHTML, 'input');
	const button = document.createElementNS(XHTML, 'button');

	input.setAttribute('placeholder', 'search  (/)');
	input.setAttribute('aria-label', 'search for functions');
	button.textContent = 'reset (Esc)';
	form.append(input, button);
	box.append(form);
	input.addEventListener('input', () => search(input.value));
	button.addEventListener('click', reset);

	for (const frame of frames) {
		frame.g.addEventListener('click', () => {
			zoomed = frame.w > 100 - EPSILON ? null : frame;
			layout();
		});
		frame.g.addEventListener('mouseenter', () => say(frame.title.replace(/\n/g, '  ·  ')));
	}
	pane.addEventListener('mouseleave', () => search(found));
	window.addEventListener('keydown', (event) => {
		if (event.key === 'Escape') {
			reset();
		} else if (event.target !== input &&
			(event.key === '/' || (event.key === 'f' && (event.ctrlKey || event.metaKey)))) {
			event.preventDefault();
			input.focus();
			input.select();
		}
	});
	window.addEventListener('scroll', place);
	window.addEventListener('resize', () => {
		box.setAttribute('x', Math.max(0, svg.getBoundingClientRect().width - 312));
		layout();
	});
	svg.setAttribute('width', '100%');
	svg.classList.add('live');
	window.dispatchEvent(new Event('resize'));
	say(HINT);
})();
