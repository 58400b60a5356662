#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate on disassembled programs: what an assembler and an emulator say of them. Prints
TAP; needs no device."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
PERFCTR = os.path.join(BUILD, "lab/bin/perfctr")
FINE, FAILED, DOUBT = 0, 1, 5


def run(*arguments, status):
    return harness.run(PERFCTR, "validate", *arguments, status=status)


class Folder:
    """A campaign with one benchmark, whose listing is k.lst."""

    def __init__(self, path, listing, **benchmark):
        self.path = path
        self.listing = self.write("k.lst", listing)
        self.events = [{"name": "all", "documented": ["*"]}]
        self.benchmark = {"name": "k", "listing": "k.lst", **benchmark}

    def write(self, name, text):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def campaign(self):
        return self.write("c.json", json.dumps({"campaign": "own", "events": self.events,
                                                "benchmarks": [self.benchmark]}))

    def counts(self):
        """[(mnemonic, executed, off)] of the points"""
        done = run("--listings", "--json", self.campaign(), status=FINE)
        return {p["point"]: [(i["mnemonic"], i["executed"], i["off"]) for i in p["instructions"]]
                for p in json.loads(done.stdout)}

    def expected(self, *rows):
        """what is documented of the events at the points"""
        names = ",".join(name for name in self.benchmark.get("parameters", {}))
        data = self.write("d.csv", f"benchmark,{names + ',' if names else ''}event,value\n" +
                          "".join(f"k,{row},0\n" for row in rows))
        result = json.loads(run("-j", "-m", data, self.campaign(),
                                status=(FINE, DOUBT)).stdout)["campaigns"][0]
        return {(e["event"], p["point"]): p["expected"] for e in result["events"]
                for p in e["points"]}


COPY = [" /*0000*/ MOV R1, c[0x0][0x28] ;", " /*0010*/ @!PT SHFL.IDX PT, RZ ;",
        " /*0020*/ S2R R0, SR_TID.X ;", " /*0030*/ IMAD R0, R0, 2, R1 ;",
        " /*0040*/ LDG.E R3, [R2] ;", " /*0050*/ STG.E [R4], R3 ;", " /*0060*/ EXIT ;",
        " /*0070*/ BRA 0x70;"]


@test
def no_line_is_dropped():
    """each form of an address gives all eight instructions; a line left out, doubled or of another
    form is refused by its number"""
    whole = [("MOV", 1, 0), ("SHFL.IDX", 0, 1), ("S2R", 1, 0), ("IMAD", 1, 0), ("LDG.E", 1, 0),
             ("STG.E", 1, 0), ("EXIT", 1, 0), ("BRA", 0, 0)]
    forms = {"as printed": lambda n, line: line,
             "blanks": lambda n, line: re.sub(r"/\*(....)\*/", r"/* \1 */", line),
             "one with blanks": lambda n, line:
                 line if n != 5 else line.replace("/*0050*/", "/* 0050 */"),
             "cat -n": lambda n, line: f"{n + 1:6}\t{line}",
             "grep -n": lambda n, line: f"{n + 1}:{line}"}
    with tempfile.TemporaryDirectory() as folder:
        own = Folder(folder, "")
        for name, form in forms.items():
            own.write("k.lst", "\n".join(form(n, line) for n, line in enumerate(COPY)) + "\n")
            check(own.counts()["k"] == whole, f"{name}: {own.counts()}")
        for wrong, words in ((COPY[:5] + COPY[6:], "k.lst:6:1: instructions between 0x40 and 0x60 "
                              "are missing"),
                             (COPY[:3] + COPY[2:], "k.lst:4:1: address 0x20 does not follow 0x20"),
                             (COPY[2:], "k.lst:1:1: the first instruction is at 0x20"),
                             (COPY[:4] + ["line 5 of 8 -> /*0040*/ LDG.E R3;"] + COPY[5:],
                              "k.lst:5:")):
            own.write("k.lst", "\n".join(wrong) + "\n")
            error = run("--listings", own.campaign(), status=FAILED).stderr
            check(words in error, f"{words}: {error}")


@test
def uniform_guards():
    """@!UPT is never executed, @UPT always, @!UP0 asks for its number"""
    text = " /*0000*/ @!UPT UIADD3 UR4, URZ ;\n /*0010*/ @UPT UMOV UR5 ;\n" \
        " /*0020*/ @!UP0 UMOV UR6 ;\n /*0030*/ EXIT ;\n"
    with tempfile.TemporaryDirectory() as folder:
        own = Folder(folder, text)
        error = run("--listings", own.campaign(), status=FAILED).stderr
        check('k.lst:3:11: how often' in error and '"taken": {"0x20": FORMULA}' in error, error)
        own.benchmark["taken"] = {"0x20": "1"}
        check(own.counts()["k"] == [("UIADD3", 0, 1), ("UMOV", 1, 0), ("UMOV", 1, 0),
                                    ("EXIT", 1, 0)], f"{own.counts()}")


# half of a warp takes the branch, then all go on
DIVERGENT = """ /*0000*/ S2R R0, SR_LANEID ;
 /*0010*/ ISETP.GE P0, PT, R0, 0x10, PT ;
 /*0020*/ @P0 BRA 0x50 ;
 /*0030*/ FADD R1, R1, R2 ;
 /*0040*/ FADD R1, R1, R3 ;
 /*0050*/ STG.E [R4], R1 ;
 /*0060*/ EXIT ;
"""


@test
def paths_of_a_warp():
    """paths: lanes of each warp with their own branches add up; lanes are a part of the threads"""
    with tempfile.TemporaryDirectory() as folder:
        own = Folder(folder, DIVERGENT, threads="64", parameters={"L": [20]},
                     paths=[{"lanes": "L", "taken": {"0x20": "0"}},
                            {"lanes": "32 - L", "taken": {"0x20": "1"}}])
        own.events = [{"name": "fadd", "documented": ["FADD"]},
                      {"name": "bra", "documented": ["BRA"]},
                      {"name": "not", "documented": ["BRA:off"]},
                      {"name": "stg", "documented": ["STG"]}]
        got = own.expected(*(f"20,{e['name']}" for e in own.events))
        check(got == {("fadd", "k L=20"): 2 * 2 * 20, ("bra", "k L=20"): 2 * 12,
                      ("not", "k L=20"): 2 * 20, ("stg", "k L=20"): 64}, f"{got}")
        text = run("--listings", own.campaign(), status=FINE).stdout
        check("path 1 of 40 threads" in text and "path 2 of 24 threads" in text, text)
        for change, words in (({"threads": "40"}, "of which 40 threads are no multiple"),
                              ({"taken": {"0x20": "1"}}, "either 'taken' or 'paths'"),
                              ({"paths": []}, "'paths' is empty"),
                              ({"paths": [{"lanes": "0 - 1", "taken": {"0x20": "1"}}]},
                               "a path has -1 lanes")):
            other = dict(own.benchmark)
            other.update(change)
            path = own.write("e.json", json.dumps({"campaign": "own", "events": own.events,
                                                   "benchmarks": [other]}))
            error = run("--listings", path, status=FAILED).stderr
            check(words in error, error)


@test
def gaps_without_bytes():
    """objdump --no-show-raw-insn: a gap that no instruction fills, 15 bytes of x86-64 or 4 of
    RISC-V, is refused; so is a file whose tabs an editor made blanks"""
    x86 = "k: file format elf64-x86-64\n\n0 <f>:\n   0:\txor    %eax,%eax\n" \
        "   {gap:x}:\tcmp    %edi,%eax\n  40:\tret\n"
    riscv = "k: file format elf64-littleriscv\n\n0 <f>:\n   0:\tli\ta0,0\n" \
        "   4:\taddi\ta0,a0,1\n   {gap:x}:\tret\n"
    with tempfile.TemporaryDirectory() as folder:
        for text, fits, gap in ((x86.replace("40", "1d"), 15, 16), (riscv, 8, 10)):
            own = Folder(folder, text.format(gap=fits))
            check(len(own.counts()["k"]) == 3, f"{own.counts()}")
            own.write("k.lst", text.format(gap=gap))
            error = run("--listings", own.campaign(), status=FAILED).stderr
            check(f"and {gap:#x} are missing" in error, error)
        own.write("k.lst", x86.format(gap=2).expandtabs())
        error = run("--listings", own.campaign(), status=FAILED).stderr
        check("give the file unchanged" in error, error)


SOURCE = """
	.globl kernel
kernel:
	{zero}
1:	{add}
	{compare}
	{back} 1b
	{last} 2f
	nop
2:	ret
"""

MACHINES = {
    # assembler, its options, objdump; the instructions
    "x86-64": (("as", "--64"), "objdump", {"zero": "xor %ecx, %ecx", "add": "inc %ecx",
               "compare": "cmp %edi, %ecx", "back": "jl", "last": "jge"}),
    "arm64": (("aarch64-linux-gnu-as",), "aarch64-linux-gnu-objdump",
              {"zero": "mov w1, #0", "add": "add w1, w1, #1", "compare": "cmp w1, w0",
               "back": "b.lt", "last": "b.ge"}),
    "RISC-V": (("riscv64-linux-gnu-as",), "riscv64-linux-gnu-objdump",
               {"zero": "li a1, 0", "add": "addi a1, a1, 1", "compare": "sub a2, a1, a0",
                "back": "bltz a2,", "last": "bgez a2,"}),
}


@test
def three_machines():
    """a loop for x86-64, arm64 and RISC-V, from its assembler, with and without bytes: the same
    counts; "*" includes branches that are not taken, as retired instructions do"""
    skipped = []
    for machine, (assembler, objdump, words) in MACHINES.items():
        if not shutil.which(assembler[0]) or not shutil.which(objdump):
            skipped.append(machine)
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([*assembler, "-o", "k.o", "-"], input=SOURCE.format(**words), text=True,
                           cwd=folder, check=True)
            for option in ([], ["--no-show-raw-insn"]):
                text = subprocess.run([objdump, "-d", *option, "k.o"], cwd=folder, text=True,
                                      stdout=subprocess.PIPE, check=True).stdout
                own = Folder(folder, text, parameters={"N": [1, 3, 10]})
                own.events.append({"name": "branches", "documented": ["BRA", "BRA:off"]})
                own.events.append({"name": "taken", "documented": ["BRA"]})
                error = run("--listings", own.campaign(), status=FAILED).stderr
                missing = re.findall('"(0x[0-9a-f]+)": FORMULA', error)
                check(len(missing) == 2, f"{machine}: {error}")
                own.benchmark["taken"] = dict(zip(missing, ("N - 1", "1")))
                rows = [f"{n},{e['name']}" for n in (1, 3, 10) for e in own.events]
                got = own.expected(*rows)
                for n in (1, 3, 10):
                    want = {"all": 3 * n + 3, "branches": n + 1, "taken": n}
                    check(all(got[e, f"k N={n}"] == v for e, v in want.items()),
                          f"{machine} {option} N={n}: {got}")
    return f"no assembler of {', '.join(skipped)}" if skipped else None


if __name__ == "__main__":
    sys.exit(harness.main())
