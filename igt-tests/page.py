# SPDX-License-Identifier: MIT
"""Results as a standalone page."""

import html
import time

PAGE_STYLE = """
:root { color-scheme: light dark; --line: #8884; --dim: #777; --pass: #187a34; --fail: #c0242c;
  --skip: #8a6d00 }
@media (prefers-color-scheme: dark) {
  :root { --dim: #999; --pass: #4cc26a; --fail: #ff6b6b; --skip: #d9b23a } }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
h1 { font-size: 1.4rem; margin: 0 0 .3rem } h2 { font-size: 1.1rem; margin: 2rem 0 .3rem }
.dim { color: var(--dim) } .pass { color: var(--pass) } .fail { color: var(--fail) }
.skip { color: var(--skip) }
.bar { display: flex; height: .6rem; border-radius: .3rem; overflow: hidden; margin: .8rem 0 }
.bar span { background: currentColor }
nav label { margin-right: 1.2rem; cursor: pointer; white-space: nowrap }
table { border-collapse: collapse; width: 100%; table-layout: fixed }
td { border-top: 1px solid var(--line); padding: .25rem .5rem; vertical-align: top }
td:nth-child(1) { width: 1.2rem; font-weight: bold; text-align: center }
td:nth-child(2) { width: 15rem; font-family: monospace; overflow-wrap: anywhere }
td:nth-child(4) { width: 5rem; text-align: right; font-variant-numeric: tabular-nums }
pre { white-space: pre-wrap; overflow-wrap: anywhere; background: #8881; padding: .6rem;
  font-size: .8rem; margin: .4rem 0; max-height: 24rem; overflow-y: auto }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0 .8rem; margin: .3rem 0 }
dd { margin: 0; overflow-wrap: anywhere }
.said { font-size: .85rem } summary { cursor: pointer; color: var(--dim); font-size: .8rem }
body:has(#pass:not(:checked)) tr.pass, body:has(#fail:not(:checked)) tr.fail,
body:has(#skip:not(:checked)) tr.skip { display: none }
tr.pass, tr.fail, tr.skip { color: inherit } tr td:first-child { color: var(--c) }
tr.pass { --c: var(--pass) } tr.fail { --c: var(--fail) } tr.skip { --c: var(--skip) }
"""
# sign and class of each verdict; all others are failures
SIGNS = {"pass": ("✓", "pass"), "skip": ("–", "skip")}
# lines of output of a passed subtest that are shown without a click: measurements
SHOWN_LINES = 3
SHOWN_CHARS = 20000


def kind_of(result):
    return SIGNS.get(result["result"], ("✗", "fail"))[1]


def folded(title, text):
    if not text.strip():
        return ""
    shown = html.escape(text[-SHOWN_CHARS:])
    return f"<details><summary>{title}</summary><pre>{shown}</pre></details>"


def row(name, result):
    sign, kind = SIGNS.get(result["result"], ("✗", "fail"))
    cell = html.escape(result.get("description", ""))
    lines = [line for line in result["out"].splitlines() if line.strip()]
    if kind == "skip":
        reasons = [line for line in lines if not line.startswith("Last errno")]
        reason = html.escape(reasons[-1].strip() if reasons else "no reason")
        cell += f'<br><span class="skip">{reason}</span>'
    elif kind == "fail":
        warnings = result.get("dmesg-warnings", "")
        cell += (f'<br><b class="fail">{html.escape(result["result"])}</b>'
                 f'<pre>{html.escape((result["out"] + warnings)[-SHOWN_CHARS:])}</pre>')
    else:
        cell += "".join(f'<div class="dim said">{html.escape(line)}</div>'
                        for line in lines[-SHOWN_LINES:])
    if kind == "skip" or kind == "pass" and len(lines) > SHOWN_LINES:
        cell += folded("output", result["out"])
    # libigt writes a line for each subtest
    if any("[IGT]" not in line for line in result.get("dmesg", "").splitlines()):
        cell += folded("kernel log", result["dmesg"])
    seconds = result["time"]["end"] - result["time"]["start"]
    return (f'<tr class="{kind}"><td>{sign}<td>{html.escape(name)}<td>{cell}'
            f'<td class="dim">{seconds:.2f} s')


def about_run(results):
    """Host, time and kernel."""
    elapsed = results["time_elapsed"]
    versions = {r["igt-version"] for r in results["tests"].values() if r.get("igt-version")}
    facts = {"kernel": results["uname"], "commit": results.get("commit") or "unknown: no git tree",
             "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(elapsed["start"])),
             "took": f'{elapsed["end"] - elapsed["start"]:.0f} s',
             "IGT": ", ".join(sorted(versions)),
             "command": " ".join(results.get("cmdline", [])),
             "attention": "; ".join(results.get("unwatched", []))}
    return "".join(f"<dt>{name}<dd>{html.escape(value)}" for name, value in facts.items() if value)


def page(results):
    """The page: every subtest with its description."""
    tests = results["tests"]
    count = {kind: sum(kind_of(r) == kind for r in tests.values())
             for kind in ("pass", "fail", "skip")}
    title = f'perfctr on {html.escape(results["uname"].split()[2])}'
    out = [f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
           f'<meta name="viewport" content="width=device-width"><style>{PAGE_STYLE}</style>'
           f'<h1>IGT tests of the counter interface: {title}</h1>'
           f'<dl class="dim"><dt>subtests<dd>{len(tests)}{about_run(results)}</dl>'
           '<div class="bar" role="img" aria-label="results">']
    out += [f'<span class="{kind}" style="flex:{n}"></span>' for kind, n in count.items() if n]
    out.append('</div><nav>')
    words = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    out += [f'<label class="{kind}"><input type="checkbox" id="{kind}" checked> {n} {words[kind]}'
            '</label>' for kind, n in count.items()]
    out.append("</nav>")
    named = [(*key.split("@", 2)[1:], result) for key, result in tests.items()]
    for program in sorted({program for program, _, _ in named}):
        mine = [(name, result) for owner, name, result in named if owner == program]
        about = html.escape(results.get("programs", {}).get(program, ""))
        out.append(f'<h2>{html.escape(program)}</h2><div class="dim">{about}</div><table>')
        # failures first
        out += [row(*test) for test in sorted(mine, key=lambda test: kind_of(test[1]) != "fail")]
        out.append("</table>")
    return "\n".join(out) + "\n"
