// SPDX-License-Identifier: MIT
// Plots of a capture: zoom, pan, search, pinned counters in one plot, markers. The tables of the
// page need no script.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
// draw at most one piece for each STEP of the COLUMNS
const COLUMNS = 1200, STEP = 3, HEIGHT = 100, COLORS = 8;
// each session has bins of its own; the cursor and the markers are at those of the longest
data.sessions.forEach((s) => { s.bins = s.from.length; });
const main = data.sessions.reduce((most, s) => s.bins > most.bins ? s : most);
const end = Math.max(...data.sessions.map(({ to, bins }) => bins ? to[bins - 1] : 1));
let left = 0, right = end, cursor = null;
const markers = { a: null, b: null };

const node = (name, parent, className, text) => {
	const n = document.createElement(name);
	if (className)
		n.className = className;
	if (text !== undefined)
		n.textContent = text;
	if (parent)
		parent.append(n);
	return n;
};
const shape = (name, parent, attributes) => {
	const n = document.createElementNS(SVG, name);
	for (const [key, value] of Object.entries(attributes))
		n.setAttribute(key, value);
	parent.append(n);
	return n;
};

// --- numbers ---

const PREFIXES = ["", "k", "M", "G", "T", "P", "E"];
// digits as C prints them: a tie goes to the even digit
function fixed(value, digits) {
	const text = value.toFixed(digits);
	const isUp = value * 2 ** (digits + 1) % 2 === 1 && text.at(-1) % 2;
	return isUp ? (value - 10 ** -digits / 4).toFixed(digits) : text;
}
// the same text as number_short() writes into the tables
function short(value, unit) {
	if (value === null)
		return "not measured";
	const sign = value < 0 ? "-" : "";
	let size = Math.abs(value), step = 0;
	if (size && size < 0.01) {
		const n = Number(fixed(size, 3 - Math.floor(Math.log10(size))));
		const digits = n < 1e-4 ? n.toExponential().replace(/-(\d)$/, "-0$1") : n;
		return `${sign}${digits} ${unit}`;
	}
	while (size >= 999.95 && step + 1 < PREFIXES.length) {
		size /= 1000;
		step++;
	}
	const digits = !step && size % 1 === 0 ? 0 : size < 9.9995 ? 3 : size < 99.995 ? 2 : 1;
	return `${sign}${fixed(size, digits)} ${PREFIXES[step]}${unit}`;
}
// a count or a sum of counts, all digits
function exact(line, count) {
	if (line.scale !== 1)
		return `${fixed(Number(count) * line.scale, 2)} ${line.totalUnit}`;
	return `${String(count).replace(/\B(?=(\d{3})+$)/g, ",")} ${line.totalUnit}`;
}
// round numbers from low to high, about as many as wanted
function ticks(low, high, wanted) {
	const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
	const step = power * [1, 2, 5, 10].find((n) => n * power >= rough * 0.7);
	const list = [];
	for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++)
		list.push(n * step);
	return { step, list };
}
function time(ns, step) {
	const s = ns / 1e9;
	if (step >= 1e9 || (step === undefined && s >= 10))
		return `${step === undefined ? s.toFixed(3) : +s.toFixed(3)} s`;
	if (step === undefined)
		return s >= 1 ? `${s.toFixed(4)} s` :
			s >= 1e-3 ? `${(s * 1e3).toFixed(3)} ms` :
			`${(s * 1e6).toFixed(2)} \u00b5s`;
	if (end >= 1e9)
		return `${s.toFixed(Math.max(0, Math.ceil(-Math.log10(step / 1e9) - 1e-9)))} s`;
	if (end >= 1e6)
		return `${+(s * 1e3).toFixed(3)} ms`;
	return `${+(s * 1e6).toFixed(3)} \u00b5s`;
}

// --- lines as paths ---

// first bin of a session that ends after t
function binAt(t, session = main) {
	let low = 0, high = session.bins;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (session.to[middle] > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

// pieces [x0, x1, min, max, mean] of the visible range: bins, or columns of pixels if fewer
function pieces(line) {
	const { from, to, bins } = line.session;
	const first = binAt(left, line.session), result = [], scale = COLUMNS / (right - left);
	let last = first;
	while (last < bins && from[last] < right)
		last++;
	const merge = last - first > COLUMNS / STEP;
	let column = null, index = -1;
	for (let n = first; n < last; n++) {
		const mean = line.mean[n];
		if (mean === null)
			continue;
		const min = line.min ? line.min[n] : mean, max = line.max ? line.max[n] : mean;
		const x0 = (from[n] - left) * scale, x1 = (to[n] - left) * scale;
		// keep a long sample separate: the extremes of a short neighbour are not its own
		if (!merge || x1 - x0 > STEP) {
			result.push([x0, x1, min, max, mean]);
			index = -1;
			continue;
		}
		const i = STEP * Math.floor(Math.max(0, x0) / STEP);
		const weight = to[n] - from[n];
		if (i !== index) {
			column = [Math.max(i, x0), Math.max(i + STEP, x1), min, max, mean, weight];
			result.push(column);
			index = i;
			continue;
		}
		column[1] = Math.max(column[1], x1);
		column[2] = Math.min(column[2], min);
		column[3] = Math.max(column[3], max);
		column[5] += weight;
		if (column[5])
			column[4] += (mean - column[4]) * weight / column[5];
	}
	return result;
}

// where a value is on a scale
const height = (v, [bottom, top]) =>
	HEIGHT - 3 - (HEIGHT - 9) * Math.min(1.07, Math.max(0, (v - bottom) / (top - bottom)));

function paths(line, list, scale) {
	const y = (v) => height(v, scale).toFixed(2);
	let mean = "", area = "", fill = "", holes = "", run = [];
	const { from, bins } = line.session;
	let x = Math.max(0, ((bins ? from[0] : end) - left) * COLUMNS / (right - left));
	const hole = (stop) => {
		const start = Math.max(0, x).toFixed(2);
		holes += `M${start} 0H${stop.toFixed(2)}V${HEIGHT}H${start}Z`;
	};
	const flush = () => {
		if (!run.length)
			return;
		const clamp = (v) => Math.min(COLUMNS + 5, Math.max(-5, v)).toFixed(2);
		let there = "", back = "", low = "";
		run.forEach((p, n) => {
			mean += `${n ? "L" : "M"}${clamp(p[0])} ${y(p[4])}H${clamp(p[1])}`;
			low += `${n ? "L" : "M"}${clamp(p[0])} ${y(p[4])}H${clamp(p[1])}`;
			there += `${n ? "L" : "M"}${clamp(p[0])} ${y(p[3])}H${clamp(p[1])}`;
			back = `L${clamp(p[1])} ${y(p[2])}H${clamp(p[0])}${back}`;
		});
		const bottom = y(scale[0]);
		fill += `${low}L${clamp(run[run.length - 1][1])} ${bottom}H${clamp(run[0][0])}Z`;
		if (line.min || list.some((p) => p.length > 5))
			area += `${there}${back}Z`;
		run = [];
	};
	for (const p of list) {
		// a gap wider than a pixel: not measured in between
		if (p[0] - x > 1) {
			flush();
			hole(Math.min(COLUMNS, p[0]));
		}
		run.push(p);
		x = Math.max(x, p[1]);
	}
	flush();
	const stop = Math.min(COLUMNS, (end - left) * COLUMNS / (right - left));
	if (stop - x > 1)
		hole(stop);
	return { mean, area, fill, holes };
}

// --- rows ---

const rows = [];
const groups = new Map();
function group(line) {
	let g = groups.get(line.group);
	if (g)
		return g;
	const box = node("section", byId("lines"), "group");
	const heading = node("h3", box);
	const button = node("button", heading, "", line.group);
	button.type = "button";
	button.setAttribute("aria-expanded", "true");
	g = { box, color: `var(--g${groups.size % COLORS})` };
	button.style.color = g.color;
	button.addEventListener("click", () => {
		const folded = box.classList.toggle("folded");
		button.setAttribute("aria-expanded", String(!folded));
		redraw();
	});
	groups.set(line.group, g);
	return g;
}

// of what is visible
function fitted(pieceList) {
	const low = pieceList.reduce((least, p) => Math.min(least, p[2]), 0);
	const high = pieceList.reduce((most, p) => Math.max(most, p[3]), low);
	return [low, high > low ? high : low + 1];
}

// a plot with an axis at its left; curves are added to it
function makePlot(parent, label) {
	const axis = node("div", parent, "axis"), plot = node("div", parent, "plot");
	const svg = shape("svg", plot, { viewBox: `0 0 ${COLUMNS} ${HEIGHT}`,
		preserveAspectRatio: "none", role: "img", "aria-label": label });
	return { plot, axis, svg, grid: shape("path", svg, { class: "grid" }) };
}
function makeCurve(svg, color) {
	const curve = {};
	for (const name of ["hole", "fill", "area", "mean"]) {
		curve[name] = shape("path", svg, { class: name });
		if (name !== "hole")
			curve[name].style[name === "mean" ? "stroke" : "fill"] = color;
	}
	return curve;
}
function drawCurve(curve, line, list, scale, alone) {
	const p = paths(line, list, scale);
	curve.mean.setAttribute("d", p.mean);
	curve.area.setAttribute("d", p.area);
	curve.fill.setAttribute("d", p.area || !alone ? "" : p.fill);
	curve.hole.setAttribute("d", alone ? p.holes : "");
}
// labels of a vertical axis; Return: the path of its grid
function drawScale(axis, scale, unit) {
	const wanted = Math.max(1, Math.min(7, axis.clientHeight / 24));
	const { step, list } = ticks(...scale, wanted);
	const size = Math.log10(Math.max(...list.map(Math.abs)) * 1.0001);
	const power = unit === "%" || !(size >= 3) ? 0 : Math.min(6, Math.floor(size / 3));
	const digits = Math.max(0, -Math.floor(Math.log10(step / 1000 ** power) + 1e-9));
	axis.replaceChildren();
	return list.map((v) => {
		const y = height(v, scale).toFixed(2), number = (v / 1000 ** power).toFixed(digits);
		const text = !v ? "0" : power ? `${number} ${PREFIXES[power]}` : number;
		node("span", axis, "", text).style.top = `${y}%`;
		return `M0 ${y}H${COLUMNS}`;
	}).join("");
}
const timeGrid = () => timeTicks().list.map((t) =>
	`M${((t - left) * COLUMNS / (right - left)).toFixed(2)} 0V${HEIGHT}`).join("");

function makeRow(line) {
	const g = group(line);
	const box = node("div", g.box, line.block ? "row of-block" : "row");
	const name = node("label", box, "name");
	const pin = node("input", name);
	pin.type = "checkbox";
	pin.title = "show in the plot at the top";
	node("b", name, "", line.name).title = line.event;
	node("span", name, "", line.block ? line.label : line.text).title = line.text;
	node("span", name, "", line.unit);
	const row = { line, box, pin, slot: -1, drawn: false, visible: false,
		...makePlot(box, `${line.event} over time: ${line.say}`) };
	row.curve = makeCurve(row.svg, g.color);
	row.label = node("span", row.plot, "top");
	row.value = node("div", box, "value");
	pin.addEventListener("change", () => {
		setPin(row, pin.checked);
		makeCharts();
		redraw();
	});
	rows.push(row);
	return row;
}

function drawRow(row) {
	const { line } = row, list = pieces(line);
	const scale = [fitted(list)[0], line.top || 1];
	row.label.textContent = line.top < line.most ?
		`peaks to ${short(line.most, line.unit)}` : "";
	row.grid.setAttribute("d", drawScale(row.axis, scale, line.unit) + timeGrid());
	drawCurve(row.curve, line, list, scale, true);
	row.drawn = true;
	showValue(row);
}

// --- values of samples ---

// first and last bin that counts are shown of: between the markers, else what is visible; a bin of
// another session than the markers' is where its middle is, so none is counted twice
function range(session) {
	const { from, to, bins } = session, isMarked = markers.a !== null && markers.b !== null;
	const [a, b] = isMarked ?
		[Math.min(markers.a, markers.b), Math.max(markers.a, markers.b)] : [left, right];
	const isBefore = (n) => isMarked && session !== main && from[n] + to[n] < 2 * a;
	const isAfter = (n) => isMarked && session !== main ? from[n] + to[n] >= 2 * b :
		from[n] >= b;
	let first = binAt(a, session), last = binAt(b, session);
	while (first < bins && isBefore(first))
		first++;
	while (last >= bins || (last >= 0 && isAfter(last)))
		last--;
	return { first, last, all: first === 0 && last === bins - 1 };
}

// count, mean and extremes of some bins as text; of all of them as in the tables
function sums(line) {
	const { from, to } = line.session, { first, last, all } = range(line.session);
	let count = null, weight = 0, mean = null, min = null, max = null;
	for (let n = first; n <= last; n++) {
		if (line.count && line.count[n] !== null)
			count = (line.isLevel ? 0n : count || 0n) + BigInt(line.count[n]);
		const value = line.mean[n], width = to[n] - from[n];
		if (value === null)
			continue;
		weight += width;
		mean = mean === null ? value : mean + (value - mean) * (width / (weight || 1));
		const low = line.min ? line.min[n] : value, high = line.max ? line.max[n] : value;
		min = min === null || low < min ? low : min;
		max = max === null || high > max ? high : max;
	}
	return {
		count: all ? line.total : count === null ? "" : exact(line, count),
		mean: short(all ? line.average : mean, ""),
		min: min === null ? "" : short(min, ""),
		max: max === null ? "" : short(max, ""),
	};
}

// value of the bin at an instant
function valueAt(line, t) {
	const { from, bins } = line.session, n = t === null ? bins : binAt(t, line.session);
	return n < bins && from[n] <= t ? line.mean[n] : null;
}

// value of the bin under the cursor, else the sum of the range
function showValue({ line, value }) {
	let text, below;
	const { from, bins } = line.session;
	const n = cursor === null ? bins : binAt(cursor, line.session);
	if (cursor === null) {
		const s = sums(line);
		const mean = `${s.mean}${line.unit}`;
		[text, below] = s.count ? [s.count, `${mean} mean`] : [mean, "mean"];
	} else if (n < bins && from[n] <= cursor) {
		text = short(line.mean[n], line.unit);
		below = line.count && line.count[n] !== null ? exact(line, line.count[n]) : "";
	}
	value.textContent = text || "";
	node("span", value, "", below || "\u00a0");
	value.title = line.note || "";
}

// --- pinned counters: one plot for each two units ---

let charts = [];
function setPin(row, isOn) {
	const used = rows.map((r) => r.slot);
	row.pin.checked = isOn;
	row.slot = !isOn ? -1 : [...used, 0].findIndex((_, n) => !used.includes(n));
	row.pin.style.accentColor = isOn ? colorOf(row) : "";
}
const colorOf = (row) => `var(--g${row.slot % COLORS})`;

function makeCharts() {
	const pinned = rows.filter((row) => row.slot >= 0).sort((a, b) => a.slot - b.slot);
	const units = [...new Set(pinned.map((row) => row.line.unit))];
	charts = [];
	byId("charts").replaceChildren();
	byId("pinned").classList.toggle("hidden", !pinned.length);
	for (let n = 0; n < units.length; n += 2) {
		const sides = units.slice(n, n + 2);
		const box = node("div", byId("charts"), "chart row");
		const name = node("div", box, "name");
		const ofSide = sides.map((unit) => pinned.filter((row) => row.line.unit === unit));
		ofSide.forEach((list, side) => {
			node("span", name, "", `${side ? "right" : "left"} axis: ${sides[side]}`);
			for (const row of list) {
				const text = row.line.event.replace(/[/.:_]/g, "$&\u200b");
				node("b", name, "", text).style.color = colorOf(row);
			}
		});
		const names = ofSide.flat().map((row) => row.line.event).join(", ");
		const chart = makePlot(box, `${names} over time`);
		chart.second = node("div", box, "axis second");
		chart.sides = ofSide.map((list) => list.map((row) =>
			({ line: row.line, curve: makeCurve(chart.svg, colorOf(row)) })));
		charts.push(chart);
	}
	const body = byId("legend").tBodies[0];
	body.replaceChildren(...pinned.map((row) => {
		const line = node("tr");
		node("i", node("th", line, "", ""), "").style.background = colorOf(row);
		line.cells[0].append(row.line.event);
		line.cells[0].scope = "row";
		node("td", line, "", row.line.unit);
		for (let n = 0; n < 8; n++)
			node("td", line);
		line.row = row;
		return line;
	}));
}

function drawChart({ svg, grid, axis, second, sides }) {
	sides.forEach((series, side) => {
		const lists = series.map(({ line }) => pieces(line));
		const scale = fitted(lists.flat());
		const lines = drawScale(side ? second : axis, scale, series[0].line.unit);
		if (!side)
			grid.setAttribute("d", lines + timeGrid());
		series.forEach(({ line, curve }, n) => drawCurve(curve, line, lists[n], scale,
			series.length + sides.length === 2));
	});
}

function drawLegend() {
	const r = range(main);
	byId("range").textContent = markers.a !== null && markers.b !== null ? "count A to B" :
		r.all ? "count" : "count, visible";
	for (const { row: { line }, cells } of byId("legend").tBodies[0].rows) {
		const [now, a, b] = [cursor, markers.a, markers.b].map((t) => valueAt(line, t));
		const s = sums(line);
		const difference = a === null || b === null ? null : b - a;
		[now, a, b, difference].map((v) => v === null ? "" : short(v, ""))
			.concat(s.mean, s.min, s.max, s.count)
			.forEach((text, n) => { cells[n + 2].textContent = text; });
	}
}

// --- the window of time ---

const timeTicks = () => ticks(left, right, Math.max(2, byId("axis").clientWidth / 100));
const place = (element, t) => { element.style.left = `${100 * (t - left) / (right - left)}%`; };

function drawAxis() {
	const axis = byId("axis"), span = right - left, { step, list } = timeTicks();
	axis.textContent = "";
	for (const t of list) {
		const mark = node("span", axis, "", time(t, step));
		place(mark, t);
		if ((t - left) / span < 0.02)
			mark.style.transform = "none";
		if ((t - left) / span > 0.98)
			mark.style.transform = "translateX(-100%)";
	}
	byId("over").replaceChildren(cross, selected);
	for (const [name, t] of Object.entries(markers)) {
		if (t === null || t < left || t > right)
			continue;
		place(node("i", byId("over"), "marker"), t);
		place(node("b", axis, "", name.toUpperCase()), t);
	}
	byId("window").style.left = `${100 * left / end}%`;
	byId("window").style.width = `${100 * span / end}%`;
	byId("window").classList.toggle("hidden", span >= end);
	byId("overview").setAttribute("aria-valuenow", String(Math.round(100 * left / end)));
	byId("overview").setAttribute("aria-valuetext", `${time(left)} to ${time(right)}`);
}

// marks of the program; a click sets the markers A and B to its ends
const markNames = [...new Set(data.marks.map((mark) => mark[4]))];
function drawMarks() {
	const box = byId("marks"), covered = [];
	box.replaceChildren();
	for (const [start, stop, lane, kind, name] of data.marks) {
		const percent = 100 / (right - left);
		const x = (Math.max(start, left) - left) * percent;
		const width = (Math.min(stop, right) - Math.max(start, left)) * percent;
		// no second element for the same piece of the screen
		if (stop < left || start > right || x + width < covered[lane])
			continue;
		covered[lane] = x + Math.max(width, 100 * STEP / COLUMNS);
		const length = kind === "point" ? "" : `, ${time(stop - start)}`;
		const mark = node("i", box, kind, width > 2 ? name : "");
		mark.title = `${name}: ${kind}${length}`;
		mark.style.cssText = `left: ${x}%; width: ${width}%; top: ${18 * lane}px; ` +
			`--mark: var(--g${markNames.indexOf(name) % COLORS})`;
		mark.addEventListener("click", () => {
			markers.a = border(start);
			markers.b = border(stop);
			redraw();
		});
	}
	box.style.height = `${18 * data.marks.reduce((n, mark) => Math.max(n, mark[2] + 1), 0)}px`;
}

// the lines that cross all plots
const cross = node("i", null, "cross"), selected = node("i", null, "select");
function fitOverlay() {
	const over = byId("over"), axis = byId("axis").getBoundingClientRect();
	over.style.left = `${axis.left - over.parentNode.getBoundingClientRect().left}px`;
	over.style.width = `${axis.width}px`;
}

let pending = false;
function redraw() {
	for (const row of rows)
		row.drawn = false;
	if (pending)
		return;
	pending = true;
	requestAnimationFrame(draw);
}
function draw() {
	pending = false;
	drawAxis();
	drawMarks();
	for (const row of rows)
		if (row.visible && !row.drawn)
			drawRow(row);
	charts.forEach(drawChart);
	fitOverlay();
	setCursor(cursor);
	remember();
}

// the address contains the view: a link or a bookmark restores it
function remember() {
	const view = new URLSearchParams();
	if (right - left < end)
		view.set("t", `${(left / 1e9).toPrecision(9)}-${(right / 1e9).toPrecision(9)}`);
	if (byId("search").value)
		view.set("q", byId("search").value);
	for (const name of ["blocks", "zero"])
		if (byId(name).checked)
			view.set(name, "1");
	if (document.documentElement.dataset.theme)
		view.set("theme", document.documentElement.dataset.theme);
	for (const name of ["a", "b"])
		if (markers[name] !== null)
			view.set(name, String(markers[name]));
	const pinned = rows.filter((row) => row.slot >= 0).sort((x, y) => x.slot - y.slot);
	for (const name of pinned.length ? pinned.map((row) => row.line.event) : [""])
		view.append("pin", name);
	const hash = view.toString();
	try {
		history.replaceState(null, "", hash ? `#${hash}` : location.pathname);
	} catch {
		// some browsers refuse this for files: then the view is not remembered
	}
}

function recall() {
	const view = new URLSearchParams(location.hash.slice(1));
	byId("search").value = view.get("q") || "";
	for (const name of ["blocks", "zero"])
		byId(name).checked = view.get(name) === "1";
	if (["light", "dark"].includes(view.get("theme")))
		document.documentElement.dataset.theme = view.get("theme");
	for (const name of ["a", "b"])
		markers[name] = /^\d+$/.test(view.get(name)) ?
			border(Number(view.get(name))) : null;
	const named = view.has("pin") ? view.getAll("pin") :
		rows.filter(({ line }) => line.most > 0).slice(0, 1).map((row) => row.line.event);
	rows.forEach((row) => setPin(row, false));
	named.forEach((name) => rows.filter((row) => row.line.event === name)
		.forEach((row) => setPin(row, true)));
	makeCharts();
	const window = /^([\d.e+]+)-([\d.e+]+)$/.exec(view.get("t") || "");
	if (window && Number(window[2]) > Number(window[1]))
		look(Number(window[1]) * 1e9, Number(window[2]) * 1e9);
}

function look(a, b) {
	const shortest = Math.min(end, 1000);
	if (b - a < shortest) {
		const middle = (a + b) / 2;
		a = middle - shortest / 2;
		b = middle + shortest / 2;
	}
	const span = Math.min(end, b - a);
	left = Math.max(0, Math.min(a, end - span));
	right = left + span;
	redraw();
}
const zoom = (factor, at = (left + right) / 2) =>
	look(at - (at - left) * factor, at + (right - at) * factor);
const pan = (share) => look(left + share * (right - left), right + share * (right - left));

// the border of a sample that is nearest to an instant
function border(t) {
	const { from, to, bins } = main;
	const n = Math.min(binAt(t), bins - 1);
	return t - from[n] <= to[n] - t ? from[n] : to[n];
}
function setMarker(name, t) {
	markers[name] = border(t);
	redraw();
}
function clearMarkers() {
	markers.a = markers.b = null;
	redraw();
}

function readout() {
	const { a, b } = markers, { first, last } = range(main), { from, to, bins } = main;
	const number = (n) => `${n} ${data.exact ? "sample" : "point"}${n === 1 ? "" : "s"}`;
	const shown = number(a !== null && a === b ? 0 : last - first + 1);
	let text = `${time(end)}, ${data.exact ? shown : `${data.samples} samples in ${shown}`}`;
	if (cursor !== null) {
		const n = binAt(cursor), inside = n < bins && from[n] <= cursor;
		text = `at ${time(cursor)}`;
		text += inside ? `, ${number(1)} of ${time(to[n] - from[n])}` : ": no sample";
		text += inside && main.quality[n] ? `: ${main.quality[n][3]}` : "";
	} else if (a !== null && b !== null) {
		text = `B \u2212 A ${b < a ? "\u2212" : ""}${time(Math.abs(b - a))}, ${shown}`;
	} else if (right - left < end) {
		text = `${time(left)} to ${time(right)}: ${time(right - left)}, ${shown}`;
	}
	byId("readout").textContent = text;
}

function setCursor(t) {
	cursor = t;
	cross.classList.toggle("hidden", t === null || t < left || t > right);
	place(cross, t === null ? left : t);
	for (const row of rows)
		if (row.visible)
			showValue(row);
	drawLegend();
	readout();
}

// the cursor to a neighbouring sample, which becomes visible
function step(by) {
	const { from, to, bins } = main;
	const next = cursor === null ? binAt(left) : binAt(cursor) + by;
	const n = Math.max(0, Math.min(bins - 1, next)), t = (from[n] + to[n]) / 2;
	if (t < left || t > right)
		look(t - (right - left) / 2, t + (right - left) / 2);
	setCursor(t);
}

function listen(main) {
	let start = null, dragged = false;
	const timeOf = (e) => {
		const r = byId("axis").getBoundingClientRect();
		const share = Math.min(1, Math.max(0, (e.clientX - r.left) / r.width));
		return left + (right - left) * share;
	};
	const plotOf = (e) => e.target.closest(".plot");
	main.addEventListener("pointerdown", (e) => {
		dragged = false;
		if (!plotOf(e) || e.button || e.pointerType === "touch")
			return;
		start = { t: timeOf(e), x: e.clientX, left, right, pans: e.shiftKey };
		plotOf(e).setPointerCapture(e.pointerId);
		e.preventDefault();
	});
	main.addEventListener("pointermove", (e) => {
		const t = timeOf(e);
		dragged ||= start !== null && Math.abs(e.clientX - start.x) > 3;
		if (start && start.pans) {
			const moved = (e.clientX - start.x) / byId("axis").clientWidth *
				(start.right - start.left);
			look(start.left - moved, start.right - moved);
			return;
		}
		if (start && dragged) {
			place(selected, Math.min(t, start.t));
			selected.style.width = `${100 * Math.abs(t - start.t) / (right - left)}%`;
		}
		if (start || plotOf(e))
			setCursor(t);
		else if (cursor !== null)
			setCursor(null);
	});
	main.addEventListener("pointerup", (e) => {
		selected.style.width = 0;
		if (start && !start.pans && dragged)
			look(Math.min(start.t, timeOf(e)), Math.max(start.t, timeOf(e)));
		start = null;
	});
	main.addEventListener("pointerleave", () => start || setCursor(null));
	main.addEventListener("click", (e) => {
		const { a, b } = markers, t = timeOf(e);
		if (plotOf(e) && !dragged)
			setMarker(a === null || (b !== null && Math.abs(t - a) < Math.abs(t - b)) ?
				"a" : "b", t);
	});
	main.addEventListener("dblclick", (e) => {
		if (!plotOf(e))
			return;
		clearMarkers();
		look(0, end);
	});
	main.addEventListener("wheel", (e) => {
		if (!plotOf(e))
			return;
		if (e.ctrlKey || e.metaKey) {
			zoom(e.deltaY > 0 ? 1.25 : 0.8, timeOf(e));
		} else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) {
			pan((e.deltaX || e.deltaY) / 800);
		} else {
			return;
		}
		e.preventDefault();
	}, { passive: false });
}

// --- what is shown ---

function filter() {
	const words = byId("search").value.toLowerCase().split(/\s+/).filter(Boolean);
	const blocks = byId("blocks").checked, zero = byId("zero").checked;
	let shown = 0;
	for (const { line, box } of rows) {
		const text = `${line.event} ${line.text} ${line.group}`.toLowerCase();
		const show = (blocks || !line.block) &&
			(zero || line.most > 0 || line.average < 0 || line.most === null) &&
			words.every((w) => text.includes(w));
		box.classList.toggle("hidden", !show);
		shown += show;
	}
	for (const { box } of groups.values())
		box.classList.toggle("hidden", !box.querySelector(".row:not(.hidden)"));
	byId("none").classList.toggle("hidden", shown > 0);
	redraw();
}

function listenAll() {
	byId("search").addEventListener("input", filter);
	byId("blocks").addEventListener("change", filter);
	byId("zero").addEventListener("change", filter);
	byId("in").addEventListener("click", () => zoom(0.5));
	byId("out").addEventListener("click", () => zoom(2));
	byId("all").addEventListener("click", () => look(0, end));
	byId("clear").addEventListener("click", clearMarkers);
	addEventListener("resize", redraw);
	byId("theme").addEventListener("click", () => {
		const root = document.documentElement;
		const dark = root.dataset.theme ? root.dataset.theme === "dark" :
			matchMedia("(prefers-color-scheme: dark)").matches;
		root.dataset.theme = dark ? "light" : "dark";
		remember();
	});
	const overview = byId("overview");
	let grabbed = null;
	const at = (e) => {
		const r = overview.getBoundingClientRect();
		return end * (e.clientX - r.left) / r.width;
	};
	overview.addEventListener("pointerdown", (e) => {
		const t = at(e), span = right - left;
		if (t < left || t > right)
			look(t - span / 2, t + span / 2);
		grabbed = t - left;
		overview.setPointerCapture(e.pointerId);
	});
	overview.addEventListener("pointermove", (e) => {
		if (grabbed !== null)
			look(at(e) - grabbed, at(e) - grabbed + (right - left));
	});
	overview.addEventListener("pointerup", () => { grabbed = null; });
	document.addEventListener("keydown", (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey ||
				e.target.type === "search")
			return;
		const at = cursor === null ? (left + right) / 2 : cursor;
		const keys = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
			"+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
			0: () => look(0, end), Escape: () => { clearMarkers(); look(0, end); },
			",": () => step(-1), ".": () => step(1),
			a: () => setMarker("a", at), b: () => setMarker("b", at),
			"/": () => byId("search").focus() };
		if (!keys[e.key])
			return;
		keys[e.key]();
		e.preventDefault();
	});
	const everything = () => {
		for (const row of rows)
			if (!row.drawn)
				drawRow(row);
	};
	addEventListener("beforeprint", everything);
}

// --- tables: sort by a click on a heading ---

function sortable(table) {
	const heads = [...table.tHead.rows[0].cells];
	heads.forEach((head, column) => {
		const button = node("button", null, "", head.textContent);
		button.type = "button";
		head.textContent = "";
		head.append(button);
		button.addEventListener("click", () => {
			const down = head.getAttribute("aria-sort") !== "descending";
			const key = (row) => {
				const cell = row.cells[column], { v } = cell.dataset;
				return v === undefined ? cell.textContent.toLowerCase() :
					/^\d+$/.test(v) ? BigInt(v) : Number(v);
			};
			const sorted = [...table.tBodies[0].rows].sort((a, b) => {
				const x = key(a), y = key(b);
				return (x > y ? 1 : x < y ? -1 : 0) * (down ? -1 : 1);
			});
			heads.forEach((h) => h.removeAttribute("aria-sort"));
			head.setAttribute("aria-sort", down ? "descending" : "ascending");
			table.tBodies[0].append(...sorted);
		});
	});
}

// --- begin ---

document.querySelectorAll("details table").forEach(sortable);
if (!main.bins)
	return;
for (const { from, to, quality } of data.sessions) {
	for (const [n, q] of Object.entries(quality)) {
		const mark = node("i", byId("overview"), q[1] || q[2] ? "bad" : "");
		mark.style.left = `${100 * from[n] / end}%`;
		mark.style.width = `${100 * (to[n] - from[n]) / end}%`;
	}
}
data.lines.forEach((line) => { line.session = data.sessions[line.session]; });
data.lines.forEach(makeRow);
listen(document.querySelector("main"));
const watch = new IntersectionObserver((entries) => {
	for (const entry of entries) {
		const row = rows[entry.target.dataset.n];
		row.visible = entry.isIntersecting;
		if (row.visible && !row.drawn && !pending)
			drawRow(row);
	}
}, { rootMargin: "300px" });
rows.forEach((row, n) => {
	row.box.dataset.n = n;
	watch.observe(row.box);
});
listenAll();
recall();
addEventListener("hashchange", () => { recall(); filter(); });
filter();
// draw visible rows at once, the rest when they are scrolled into view
for (const row of rows)
	row.visible = row.box.offsetParent !== null &&
		row.box.getBoundingClientRect().top < innerHeight;
draw();
document.documentElement.dataset.ready = String(rows.length);
})();
