#!/usr/bin/env node
// SPDX-License-Identifier: MIT
// usage: tools/tests/test-duckdb.mjs, where "npm install @duckdb/node-api" was run (Node 20)
// On request: the recipes of docs/captures.md with DuckDB. 1,000 captures, two thirds of which zstd
// and gzip compressed, as CSV and JSON lines, loaded, written as Parquet and read back, have the
// medians of perfctr diff. Prints TAP.

import { execFileSync, execSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const require = createRequire(join(process.cwd(), "x.js"));
const { DuckDBInstance } = await import(pathToFileURL(require.resolve("@duckdb/node-api")));
const here = dirname(fileURLToPath(import.meta.url));
const perfctr = join(process.env.BUILD ?? join(here, "../../build"), "bin/perfctr");
const work = mkdtempSync(join(tmpdir(), "duckdb-"));
const fleet = join(work, "fleet");
const base = await (await DuckDBInstance.create()).connect();

async function rows(sql) {
	return (await base.runAndReadAll(sql)).getRowsJson();
}

// What each host reads in a frame, the median of its captures.
function medians(sums, from) {
	return rows(`WITH captures AS (SELECT host, ${sums} AS per_frame FROM '${from}' ` +
		    "GROUP BY file, host) SELECT host, median(per_frame) FROM captures " +
		    "GROUP BY host ORDER BY host");
}

const recipes = {
	csv: [`FROM read_csv('${work}/csv', types = {value: 'UBIGINT'}, sample_size = -1)`,
	      "sum(value) FILTER (event LIKE '%/READ') / " +
	      "sum(value) FILTER (event LIKE '%/FRAMES')"],
	json: [`SELECT file, host, device, seq, end_realtime_ns, counters FROM
		read_ndjson('${work}/json', map_inference_threshold = 0,
		sample_size = -1) WHERE record = 'sample'`,
	       "sum(list_sum(map_values(map_from_entries(list_filter(map_entries(counters), " +
	       "x -> x.key LIKE '%/READ'))))) / sum(list_sum(map_values(map_from_entries(" +
	       "list_filter(map_entries(counters), x -> x.key LIKE '%/FRAMES')))))"],
};

execFileSync(join(here, "fleet.py"), [fleet]);
execSync(`find ${fleet} -type f | sort >${work}/all
	sed -n 1~3p ${work}/all | xargs zstd -q --rm
	sed -n 2~3p ${work}/all | xargs gzip`);
const changes = JSON.parse(execFileSync(perfctr, ["diff", "-j", "--by", "host", "--per",
	"shader/FRAMES", "-e", "*/READ", fleet])).changes;
// The last hosts are no numbers, which the first 20,480 rows do not show.
const ours = new Map(changes.map(c => [c.group.replace(/host0([0-8])/, "1$1"), c.b.median]));
let failed = 0;
console.log(`1..${Object.keys(recipes).length}`);
for (const [number, [format, [select, sums]]] of Object.entries(recipes).entries()) {
	execSync(`${perfctr} export -f ${format} ${fleet} |` +
		 ` sed 's/host0\\([0-8]\\)/1\\1/g' >${work}/${format}`);
	await base.run(`COPY (${select}) TO '${work}/${format}.parquet'`);
	const theirs = await medians(sums, `${work}/${format}.parquet`);
	const ok = theirs.length === ours.size &&
		theirs.every(([host, value]) => Math.abs(ours.get(host) / value - 1) < 1e-12);
	failed += !ok;
	console.log(`${ok ? "ok" : "not ok"} ${number + 1} - ${format} to Parquet: ` +
		    `${theirs.length} hosts as in perfctr diff`);
}
rmSync(work, { recursive: true });
process.exit(failed ? 1 : 0);
