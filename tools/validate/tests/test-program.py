#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate on programs of one's own: functions and regions in single steps, which the
processor counts, and by events of the process. Prints TAP; needs gcc and objdump, no device."""

import hashlib
import json
import os
import platform
import re
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

# a loop with a branch inside, whose instructions no compiler changes, for x86-64 and arm64
SOURCE = r"""
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
__asm__(".globl odd\n.type odd, @function\nodd:\n"
	"	xor %eax, %eax\n"
	"1:	test $1, %dil\n"
	"	jz 2f\n"
	"	inc %eax\n"
	"2:	dec %rdi\n"
	"	jnz 1b\n"
	"	ret\n.size odd, . - odd\n");
#else
__asm__(".globl odd\n.type odd, %function\nodd:\n"
	"	mov w1, #0\n"
	"1:	tbz x0, #0, 2f\n"
	"	add w1, w1, #1\n"
	"2:	subs x0, x0, #1\n"
	"	b.ne 1b\n"
	"	ret\n.size odd, . - odd\n");
#endif
int odd(long count);

#define LABEL(name) __asm__ volatile(".globl " #name "\n" #name ":" ::: "memory")

static void *other(void *none)
{
	return none;
}

static void handler(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[2] : "";
	const long count = atol(argv[1]);
	volatile long sum = 0;

	if (!strcmp(mode, "fork") && system("true"))
		return 1;
	if (!strcmp(mode, "thread")) {
		pthread_t thread;

		pthread_create(&thread, NULL, other, NULL);
		pthread_join(thread, NULL);
	}
	if (!strcmp(mode, "signal")) {
		signal(SIGALRM, handler);
		ualarm(2000, 2000);
	}
	if (!strcmp(mode, "touch")) {
		char *fresh = mmap(NULL, (size_t)count << 12, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		madvise(fresh, (size_t)count << 12, MADV_NOHUGEPAGE);
		for (long i = 0; i < count; i++)
			fresh[i << 12] = 1;
	}
	sum += odd(count);
	if (!strcmp(mode, "three")) {
		sum += odd(2 * count);
		sum += odd(5 * count);
	}
	for (int i = 0; i < 4; i++) {
		LABEL(work_begin);
		sum = sum + 3;
		sum = sum * 5;
		LABEL(work_end);
		sum = sum & 0xffff;
	}
	return !strcmp(mode, "fail");
}
"""

AMOUNTS = {"instructions": ["*"], "jumps": ["BRA", "EXIT"], "branches": ["BRA", "BRA:off", "EXIT"]}
STEPS = [{"name": "instructions", "counter": "step/instructions/", "documented": ["instructions"]},
         {"name": "jumps", "counter": "step/jumps/", "documented": ["jumps"]}]


class Own:
    """A program, what objdump prints of it, and a campaign."""

    def __init__(self, folder, *options):
        self.folder = folder
        with open(os.path.join(folder, "p.c"), "w", encoding="ascii") as f:
            f.write(SOURCE)
        subprocess.run(["gcc", "-O1", "-pthread", *options, "-o", "p", "p.c"], cwd=folder,
                       check=True)
        self.listing = self.disassemble()
        self.events = STEPS
        # the branch that skips the addition, and the one back
        taken = self.missing({"name": "odd", "listing": "p.lst", "symbol": "odd"})
        self.odd = {"name": "odd", "command": "run ./p {N}", "listing": "p.lst", "symbol": "odd",
                    "parameters": {"N": [10, 32]},
                    "taken": dict(zip(taken, ("N / 2", "N - 1")))}

    def disassemble(self, *options):
        text = subprocess.run(["objdump", "-d", *options, "p"], cwd=self.folder, text=True,
                              stdout=subprocess.PIPE, check=True).stdout
        self.write("p.lst", text)
        return text

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def campaign(self, *benchmarks, **members):
        return self.write("c.json", json.dumps({
            "campaign": "own", "device": "cpu", "amounts": AMOUNTS, "events": self.events,
            "runs": 1, "benchmarks": benchmarks, **members}))

    def run(self, *arguments, status):
        return harness.run(PERFCTR, "validate", "--run-programs", *arguments, status=status,
                           cwd=self.folder)

    def missing(self, *benchmarks):
        error = self.run("--listings", self.campaign(*benchmarks), status=FAILED).stderr
        return re.findall(r'"(\+0x[0-9a-f]+)": FORMULA', error)

    def result(self, *benchmarks, status=FINE, **members):
        done = self.run("-j", self.campaign(*benchmarks, **members), status=status)
        return json.loads(done.stdout)["campaigns"][0]

    def counted(self, *benchmarks, **members):
        """{(event, point): (expected, value)}"""
        events = self.result(*benchmarks, status=(FINE, DOUBT), **members)["events"]
        return {(e["event"], p["point"]): (p["expected"], p["measured"])
                for e in events for p in e["points"]}

    def refused(self, benchmark):
        return self.run(self.campaign(benchmark), status=FAILED).stderr


def of_odd(n):
    """instructions and jumps of odd(), for an even number of rounds: a first one, a return, in each
    round four, or three of arm64, and in each second one the addition"""
    return 2 + (3 if platform.machine() == "aarch64" else 4) * n + n // 2, n // 2 + n


@test
def a_function():
    """a function's instructions and jumps, counted by the processor's steps, are those of its
    listing at two sizes; wrong numbers of a branch are found"""
    for options in ((), ("-no-pie",), ("-static",)):
        with tempfile.TemporaryDirectory() as folder:
            own = Own(folder, *options)
            got = own.counted(own.odd)
            for n in (10, 32):
                want = of_odd(n)
                check(got["instructions", f"odd N={n}"] == (want[0],) * 2 and
                      got["jumps", f"odd N={n}"] == (want[1],) * 2, f"{options} {n}: {got}")
            result = own.result(own.odd)
            check([e["verdict"] for e in result["events"]] == ["TRUSTED"] * 2,
                  f"{result['events']}")
            if options:
                continue
            first = next(iter(own.odd["taken"]))
            own.odd["taken"][first] = "N / 2 - 3"
            result = own.result(own.odd, status=DOUBT)
            check(result["events"][0]["verdict"] == "UNTRUSTED", f"{result['events'][0]}")
            # it is not the steps that are wrong
            check("single steps are exact, so what the campaign expects is wrong" in
                  result["events"][0]["reason"], result["events"][0]["reason"])


@test
def calls():
    """all calls, which must be as many as the benchmark says, or one of them"""
    with tempfile.TemporaryDirectory() as folder:
        own = Own(folder)
        one = {**own.odd, "command": "run ./p {N} three"}
        text = own.refused(one)
        check('the function was called 3 times, the benchmark says 1 ("kernels")' in text, text)
        # the third call is of 5 N
        third = {**one, "call": "3", "taken": {a: f.replace("N", "(5 * N)")
                                               for a, f in own.odd["taken"].items()}}
        got = own.counted(third)
        check(got["instructions", "odd N=10"][0] == got["instructions", "odd N=10"][1] > 150,
              f"{got}")
        text = own.refused({**third, "call": "4"})
        check("called 3 times, call 4 is to be counted" in text, text)
        check('"call" is the number' in own.refused({**third, "call": "0"}), "call 0")


@test
def a_region():
    """a region between two labels, four times; a branch out of one and a return are refused"""
    with tempfile.TemporaryDirectory() as folder:
        own = Own(folder)
        region = {"name": "work", "command": "run ./p {N}", "listing": "p.lst", "kernels": "4",
                  "region": ["work_begin", "work_end"], "parameters": {"N": [3]}}
        lines = own.listing.split("<work_begin>:\n")[1].split("\n\n")[0].count("\n") + 1
        check(2 < lines < 20, f"{lines} lines")
        got = own.counted(region)
        check(got["instructions", "work N=3"] == (4 * lines,) * 2 and
              got["jumps", "work N=3"] == (0, 0), f"{lines}: {got}")
        for labels, words in ((["work_begin", "nowhere"], "but nowhere does not follow"),
                              (["nowhere", "work_end"], "there is no function nowhere"),
                              (["odd", "main"], "here it returns"), (["odd"], "is two labels")):
            text = own.refused({**region, "region": labels, "taken": {}})
            check(words in text, f"{labels}: {text}")


@test
def other_things_happen():
    """a program that starts others is counted; a thread, a signal in the function, an exit status,
    another program than the listing's, one without bytes, none at all: each is said"""
    with tempfile.TemporaryDirectory() as folder:
        own = Own(folder)
        got = own.counted({**own.odd, "command": "run ./p {N} fork"})
        check(got["instructions", "odd N=32"][0] == got["instructions", "odd N=32"][1], f"{got}")
        for mode, words in (("thread", "it starts a thread"), ("fail", "it ended with status 1")):
            text = own.refused({**own.odd, "command": f"run ./p {{N}} {mode}"})
            check(words in text, text)
        slow = {**own.odd, "parameters": {"N": [100000]}, "command": "run ./p {N} signal"}
        text = own.refused(slow)
        check("signal 14 came while it was counted" in text, text)
        check("No such file" in own.refused({**own.odd, "command": "run ./none"}), "none")
        text = harness.run(PERFCTR, "validate", own.campaign(own.odd), status=FAILED,
                           cwd=folder).stderr
        check("give --run-programs" in text, text)
        own.disassemble("--no-show-raw-insn")
        check("lacks the bytes" in own.refused(own.odd), "no bytes")
        own.write("p.lst", re.sub("(<odd>:\n *[0-9a-f]+:\t)[0-9a-f]{2}", r"\g<1>00",
                                  own.listing))
        text = own.refused(own.odd)
        check("it is not the program of the listing" in text, text)
        own.write("p.lst", own.listing)
        del own.odd["listing"], own.odd["symbol"], own.odd["taken"]
        own.odd["quantities"] = {"rounds": "N"}
        check("give the program's listing" in own.refused(own.odd), "no listing")


@test
def all_numbers_at_once():
    """numbers of branches that two benchmarks lack, and thirty of one, are asked for together"""
    with tempfile.TemporaryDirectory() as folder:
        own = Own(folder)
        bare = {k: v for k, v in own.odd.items() if k != "taken"}
        asked = own.missing(bare, {**bare, "name": "again"})
        check(len(asked) == 4, f"{asked}")
        own.write("many.lst", "".join(f" /*{16 * i:04x}*/ @P0 MOV R1, R2 ;\n" for i in range(30)) +
                  " /*01e0*/ EXIT ;\n")
        error = own.run("--listings", own.campaign({"name": "m", "listing": "many.lst"}),
                        status=FAILED).stderr
        check(error.count("FORMULA") == 30 and "more" not in error, error)


@test
def events_of_the_process():
    """a perf event counts the function only: pages that main() touched before are not its own;
    device local counts the process, while another one touches many more"""
    with tempfile.TemporaryDirectory() as folder:
        own = Own(folder)
        own.events = [{"name": "faults", "counter": "software/page-faults/",
                       "documented": ["pages"], "accept": {"absolute": 2}}]
        got = own.counted({**own.odd, "command": "run ./p {N} touch", "quantities": {"pages": "0"},
                           "parameters": {"N": [3000]}})
        check(got["faults", "odd N=3000"][1] <= 2, f"{got}")
        own.events[0]["accept"] = {"absolute": 400}
        path = own.campaign({"name": "touch", "command": "run ./p {N} touch", "kernels": "2",
                             "quantities": {"pages": "N"}, "parameters": {"N": [2000, 8000]}},
                            device="local", amounts={})
        with subprocess.Popen(["sh", "-c", "while :; do ./p 20000 touch; done"], cwd=folder,
                              start_new_session=True) as noise:
            try:
                done = own.run("-j", path, status=(FINE, DOUBT))
            finally:
                os.killpg(noise.pid, 9)
        event = json.loads(done.stdout)["campaigns"][0]["events"][0]
        check(event["verdict"] == "TRUSTED", f"{event['verdict']}: {event['reason']}, "
              f"{event['points']}")


@test
def what_an_assessor_asks_for():
    """a pack has the builds of tool and program as readelf gives them, the requirements, and a form
    of review that names the hash of the hashes and can be filled in"""
    with tempfile.TemporaryDirectory() as folder:
        own = Own(folder)
        own.events = [{**STEPS[0], "requirements": ["TIM-1", "TIM-2"]},
                      {**STEPS[1], "requirements": ["TIM-2"]}]
        said = own.run("-o", "/dev/null", "--evidence", "pack", own.campaign(own.odd), status=FINE)
        check("own: 0 counters; single steps, which are no counter: 2 TRUSTED" in
              said.stdout + said.stderr, f"{said}")
        pack = os.path.join(folder, "pack")
        read = {}
        for name in ("result.json", "report.txt", "review.txt", "README.txt", "SHA256SUMS"):
            with open(os.path.join(pack, name), encoding="utf-8") as f:
                read[name] = f.read()
        result = json.loads(read["result.json"])

        def build(path):
            text = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
            return re.search("Build ID: ([0-9a-f]+)", text).group(1)

        validator = os.path.join(BUILD, "lab/bin/perfctr-validate")
        check(result["build"].split(",")[0] == build(validator), f"{result['build']}")
        configuration = result["campaigns"][0]["configuration"]
        check(configuration["program ./p"] == f"build {build(os.path.join(folder, 'p'))}" and
              configuration["perfctr build"] == result["build"], f"{configuration}")
        check([e["requirements"] for e in result["campaigns"][0]["events"]] ==
              [["TIM-1", "TIM-2"], ["TIM-2"]], "requirements")
        check(re.search("TIM-2 +instructions TRUSTED, jumps TRUSTED", read["report.txt"]),
              read["report.txt"])
        digest = hashlib.sha256(read["SHA256SUMS"].encode()).hexdigest()
        for words in (digest, result["build"], "TIM-1, TIM-2", "Reviewer", "Independence"):
            check(words in read["review.txt"], f"{words}: {read['review.txt']}")
        check("review.txt" not in read["SHA256SUMS"] and "review.txt" in read["README.txt"], "hash")
        with open(os.path.join(pack, "review.txt"), "a", encoding="utf-8") as f:
            f.write("Decision: accepted\n")
        own.run("-o", "/dev/null", "-m", "pack", status=FINE)
        check("the program was compared with its listing: ./p." in read["README.txt"],
              read["README.txt"])


if __name__ == "__main__":
    sys.exit(harness.main())
