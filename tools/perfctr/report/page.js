// SPDX-License-Identifier: MIT
// Time lines of a capture: zoom, pan, search. The tables of the page need no script.
"use strict";
(() => {
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
// draw at most one piece for each STEP of the COLUMNS
const COLUMNS = 1200, STEP = 3, HEIGHT = 100, COLORS = 8;
const from = data.from, to = data.to, bins = from.length;
const end = bins ? to[bins - 1] : 1;
let left = 0, right = end, cursor = null;

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

const PREFIXES = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"],
	[1, ""], [1e-3, "m"], [1e-6, "\u00b5"], [1e-9, "n"]];
function short(value, unit) {
	if (value === null)
		return "not measured";
	const size = Math.abs(value), percent = unit === "%";
	if (!size)
		return percent ? "0 %" : `0 ${unit}`;
	const [factor, prefix] = percent || (unit === "CPUs" && size < 1) ? [1, ""] :
		PREFIXES.find(([f]) => size >= f * 0.99995) || [1e-9, "n"];
	const number = value / factor;
	const digits = Math.abs(number) >= 100 ? 1 : Math.abs(number) >= 10 ? 2 : 3;
	return `${number.toFixed(digits)} ${prefix}${unit}`;
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

// first bin that ends after t
function binAt(t) {
	let low = 0, high = bins;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (to[middle] > t)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

// pieces [x0, x1, min, max, mean] of the visible range: bins, or columns of pixels if fewer
function pieces(line) {
	const first = binAt(left), result = [], scale = COLUMNS / (right - left);
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

function paths({ line, label }) {
	const list = pieces(line);
	let top;
	if (byId("fit").checked) {
		top = list.reduce((most, p) => Math.max(most, p[3]), 0) || 1;
		label.textContent = short(top, line.unit);
	} else {
		const peaks = byId("peaks").checked;
		top = peaks ? line.full : line.top;
		label.textContent = !(line.most > 0) ? "" :
			peaks || line.top === line.full ? short(top, line.unit) :
			`${short(top, line.unit)}, peaks to ${short(line.most, line.unit)}`;
	}
	const y = (v) =>
		(HEIGHT - 3 - (HEIGHT - 9) * Math.min(1.07, Math.max(0, v) / top)).toFixed(2);
	let mean = "", area = "", fill = "", holes = "", run = [];
	let x = Math.max(0, (from[0] - left) * COLUMNS / (right - left));
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
		const bottom = y(0);
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

// A few short peaks that would flatten the rest are cut off, and the label shows it.
function scale(line) {
	const usual = (v) => line.unit === "%" ? Math.max(100, v) : v;
	line.full = line.most > 0 ? usual(line.most) : 1;
	line.top = line.full;
	const peaks = (line.max || line.mean).filter((v) => v !== null).sort((a, b) => a - b);
	const common = peaks.length > 50 ? usual(1.15 * peaks[Math.floor(0.99 * peaks.length)]) : 0;
	if (common > 0 && line.full > 1.5 * common)
		line.top = common;
}

function makeRow(line) {
	const g = group(line);
	const box = node("div", g.box, line.block ? "row of-block" : "row");
	const name = node("div", box, "name");
	node("b", name, "", line.name).title = line.event;
	node("span", name, "", line.block ? line.label : line.text).title = line.text;
	const plot = node("div", box, "plot");
	const svg = shape("svg", plot, { viewBox: `0 0 ${COLUMNS} ${HEIGHT}`,
		preserveAspectRatio: "none", role: "img" });
	svg.setAttribute("aria-label", `${line.event} over time: ${line.say}`);
	const row = { line, box, plot, svg, value: node("div", box, "value"),
		drawn: false, visible: false };
	const styles = [["hole", ""], ["fill", "fill"], ["area", "fill"], ["mean", "stroke"]];
	for (const [className, color] of styles) {
		row[className] = shape("path", svg, { class: className });
		if (color)
			row[className].style[color] = g.color;
	}
	scale(line);
	row.label = node("span", plot, "top");
	row.select = node("div", plot, "select");
	row.cross = node("div", plot, "cross");
	rows.push(row);
	return row;
}

function drawRow(row) {
	const p = paths(row);
	row.mean.setAttribute("d", p.mean);
	row.area.setAttribute("d", p.area);
	row.fill.setAttribute("d", p.area ? "" : p.fill);
	row.hole.setAttribute("d", p.holes);
	row.drawn = true;
	showValue(row);
}

// value of the bin under the cursor, else of the visible range
function showValue(row) {
	const { line, value } = row;
	let text, below;
	if (cursor === null) {
		text = line.total ? `${line.total} ${line.totalUnit}` :
			short(line.average, line.unit);
		below = !line.total ? "mean" :
			line.average !== null ? `${short(line.average, line.unit)} mean` : "";
	} else {
		const n = binAt(cursor);
		const inside = n < bins && from[n] <= cursor;
		text = inside ? short(line.mean[n], line.unit) : "";
		below = inside && line.min && line.mean[n] !== null ?
			`${short(line.min[n], "")} to ${short(line.max[n], line.unit)}` : "";
	}
	value.textContent = text;
	node("span", value, "", below || "\u00a0");
	value.title = line.note || "";
}

// --- the window of time ---

function drawAxis() {
	const axis = byId("axis"), span = right - left;
	axis.textContent = "";
	let step = 10 ** Math.floor(Math.log10(span / 6));
	step *= span / 6 / step >= 5 ? 5 : span / 6 / step >= 2 ? 2 : 1;
	for (let t = Math.ceil(left / step) * step; t <= right; t += step) {
		const mark = node("span", axis, "", time(t, step));
		const share = (t - left) / span;
		mark.style.left = `${100 * share}%`;
		if (share < 0.02)
			mark.style.transform = "none";
		if (share > 0.98)
			mark.style.transform = "translateX(-100%)";
	}
	byId("window").style.left = `${100 * left / end}%`;
	byId("window").style.width = `${100 * span / end}%`;
	byId("window").classList.toggle("hidden", span >= end);
	byId("overview").setAttribute("aria-valuenow", String(Math.round(100 * left / end)));
	byId("overview").setAttribute("aria-valuetext", `${time(left)} to ${time(right)}`);
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
	for (const row of rows)
		if (row.visible && !row.drawn)
			drawRow(row);
	readout();
	remember();
}

// the address contains the view: a link or a bookmark restores it
function remember() {
	const view = new URLSearchParams();
	if (right - left < end)
		view.set("t", `${(left / 1e9).toPrecision(9)}-${(right / 1e9).toPrecision(9)}`);
	if (byId("search").value)
		view.set("q", byId("search").value);
	for (const name of ["blocks", "zero", "peaks", "fit"])
		if (byId(name).checked)
			view.set(name, "1");
	if (document.documentElement.dataset.theme)
		view.set("theme", document.documentElement.dataset.theme);
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
	for (const name of ["blocks", "zero", "peaks", "fit"])
		byId(name).checked = view.get(name) === "1";
	if (["light", "dark"].includes(view.get("theme")))
		document.documentElement.dataset.theme = view.get("theme");
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

function readout() {
	const box = byId("readout");
	if (cursor === null) {
		box.textContent = right - left < end ?
			`${time(left)} to ${time(right)}: ${time(right - left)}` :
			data.exact ? `${time(end)}, ${bins} samples` :
			`${time(end)}, ${data.samples} samples in ${bins} points`;
		return;
	}
	const n = binAt(cursor);
	let text = `at ${time(cursor)}`;
	if (n < bins && from[n] <= cursor) {
		text += `, ${data.exact ? "sample" : "point"} of ${time(to[n] - from[n])}`;
		const q = data.quality[n];
		if (q)
			text += `: ${q[3]}`;
	} else {
		text += ": no sample";
	}
	box.textContent = text;
}

function setCursor(t) {
	cursor = t;
	const share = t === null ? 0 : (t - left) / (right - left);
	for (const row of rows) {
		if (!row.visible)
			continue;
		row.cross.style.display = t === null ? "none" : "block";
		row.cross.style.left = `${100 * share}%`;
		showValue(row);
	}
	readout();
}

const timeOf = (event, plot) => {
	const r = plot.getBoundingClientRect();
	return left + (right - left) * Math.min(1, Math.max(0, (event.clientX - r.left) / r.width));
};

function listen(row) {
	const { plot, select } = row;
	let start = null;
	plot.addEventListener("pointerdown", (e) => {
		if (e.button || e.pointerType === "touch")
			return;
		start = { t: timeOf(e, plot), x: e.clientX, left, right, pans: e.shiftKey };
		plot.setPointerCapture(e.pointerId);
		e.preventDefault();
	});
	plot.addEventListener("pointermove", (e) => {
		const t = timeOf(e, plot);
		if (start && start.pans) {
			const moved = (e.clientX - start.x) / plot.clientWidth *
				(start.right - start.left);
			look(start.left - moved, start.right - moved);
			return;
		}
		if (start && Math.abs(e.clientX - start.x) > 3) {
			const a = (Math.min(t, start.t) - left) / (right - left);
			const b = (Math.max(t, start.t) - left) / (right - left);
			select.style.display = "block";
			select.style.left = `${100 * a}%`;
			select.style.width = `${100 * (b - a)}%`;
		}
		setCursor(t);
	});
	plot.addEventListener("pointerup", (e) => {
		const t = timeOf(e, plot);
		if (start && !start.pans && Math.abs(e.clientX - start.x) > 3)
			look(Math.min(start.t, t), Math.max(start.t, t));
		start = null;
		select.style.display = "none";
	});
	plot.addEventListener("pointerleave", () => start || setCursor(null));
	plot.addEventListener("dblclick", () => look(0, end));
	plot.addEventListener("wheel", (e) => {
		if (e.ctrlKey || e.metaKey) {
			zoom(e.deltaY > 0 ? 1.25 : 0.8, timeOf(e, plot));
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
			(zero || line.most > 0 || line.most === null) &&
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
	byId("peaks").addEventListener("change", redraw);
	byId("fit").addEventListener("change", redraw);
	byId("in").addEventListener("click", () => zoom(0.5));
	byId("out").addEventListener("click", () => zoom(2));
	byId("all").addEventListener("click", () => look(0, end));
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
				/^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName))
			return;
		const keys = { ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
			"+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
			0: () => look(0, end), Escape: () => look(0, end),
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
				return v === undefined ? cell.textContent.toLowerCase() : Number(v);
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

document.querySelectorAll("table").forEach(sortable);
if (!bins)
	return;
for (const [n, q] of Object.entries(data.quality)) {
	const mark = node("i", byId("overview"), q[1] || q[2] ? "bad" : "");
	mark.style.left = `${100 * from[n] / end}%`;
	mark.style.width = `${100 * (to[n] - from[n]) / end}%`;
}
data.lines.forEach((line) => listen(makeRow(line)));
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
