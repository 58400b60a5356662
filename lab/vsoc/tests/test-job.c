// SPDX-License-Identifier: MIT
/* Commands, listings and random work of vsoc-job, without a device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/listing.h"
#include "job/command.h"
#include "job/instructions.h"
#include "job/workload.h"

#include "tests/test.h"

static int parse(struct job *job, const char *line, char *error)
{
	char copy[256], *rest = copy, *word;
	const char *words[32];
	size_t count = 0;

	snprintf(copy, sizeof(copy), "%s", line);
	job_clear(job);
	while ((word = strsep(&rest, " ")))
		words[count++] = word;
	return job_parse(job, words, count, error, 256);
}

TEST("commands of a job are read")
{
	struct job job = { 0 };
	char error[256];

	CHECK(!parse(&job, "x3 draw vertices=5k copy bytes=4Ki read write home=gmem", error));
	CHECK(job.count == 4 && job.commands[2].draw.vertices == 5000);
	CHECK(job.commands[3].copy.bytes == 4096 && job.commands[3].copy.flags == 3);
	CHECK(job.commands[3].copy.home == DRM_VSOC_HOME_GMEM);
	CHECK(!parse(&job, "wait time=2ms", error) && job.commands[0].wait.duration_ns == 2000000);
	CHECK(parse(&job, "draw nonsense=1", error) == -EINVAL && strstr(error, "vertices="));
	CHECK(parse(&job, "copy bytes=64", error) == -EINVAL && strstr(error, "'read'"));
	CHECK(parse(&job, "copy bytes=64 read socket=4294967296", error) == -EINVAL);
	CHECK(parse(&job, "x0 draw", error) == -EINVAL);
	CHECK(parse(&job, "x2", error) == -EINVAL);
	CHECK(parse(&job, "dance", error) == -EINVAL);
	CHECK(parse(&job, "pcie bytes=64 read write", error) == -EINVAL &&
	      strstr(error, "two commands"));
	CHECK(parse(&job, "pcie bytes=64 write target home=peer", error) == 0);
	job_free(&job);
}

TEST("the help names values that have names")
{
	FILE *real = stdout;
	char *text = NULL;
	size_t size;

	stdout = open_memstream(&text, &size);
	command_help();
	fclose(stdout);
	stdout = real;
	CHECK(strstr(text, "initiator=gpu|cpu|noncpu|remote, home=cmem|gmem|"));
	free(text);
}

static int listing(const char *text, int64_t n, struct listing *listing, char *error)
{
	struct listing_parameter parameter = { .name = "N", .value = n };
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	int ret = listing_read(file, "x", &virtual_soc, &parameter, n >= 0, listing, error, 256);

	fclose(file);
	return ret;
}

TEST("listings are read, mistakes have a line")
{
	static const struct {
		const char *text;
		int64_t n;
		const char *error;
	} bad[] = {
		{ "", -1, "x: the listing is empty" },
		{ "NOP\nDANCE R1\n", -1, "x:2: 'DANCE' is no instruction" },
		{ "MOVE R1\n", -1, "x:1: 'MOVE' is no instruction" },
		{ "BRA\n", -1, "x:1: say where BRA goes" },
		{ "BRA there\n", -1, "x:1: there is no label 'there'" },
		{ "BRA -1\n", -1, "x:1: BRA -1 leaves" },
		{ "BRA +1\n", -1, "x: the branch at instruction 0 leaves" },
		{ "a: NOP\na: NOP\n", -1, "x:2: label 'a' stands twice" },
		{ "NOP\nBRA a\na:\n", -1, "x: the branch at instruction 1 leaves" },
		{ "0 * NOP\n", -1, "x:1: a repetition" },
		{ "4097 * NOP\n", -1, "x:1: a repetition" },
		{ "4096 * NOP\nNOP\n", -1, "x:2: more than 4096" },
		{ "2 * a: NOP\n", -1, "x:1: a label or a branch" },
		{ "@P NOP\n", -1, "x:1: a guard is" },
		{ "@P0 NOP\n", -1, "x:1: say in braces" },
		{ "@PT0 NOP\n", -1, "x:1: a space is missing" },
		{ "@P0{N} NOP\n", -1, "x:1: formula: 'N' has no value" },
		{ "@P0{N-2} NOP\n", 1, "x:1: the guard would be true -1 times" },
		{ "@P0{N*N} NOP\n", 4000000000, "x:1: formula \"N*N\" gives no integer" },
		{ "@P0{4294967296} NOP\n", -1, "x:1: the guard would be true 4294967296" },
		{ "@P0{N/(N-3)} NOP\n", 3, "x:1: formula \"N/(N-3)\" gives no integer" },
		{ "@P0{} NOP\n", -1, "x:1: formula \"\": it ends too early" },
		{ "@P0{(1} NOP\n", -1, "x:1: formula \"(1\": ) is expected" },
		{ "@P0{min(1)} NOP\n", -1, "x:1: formula \"min(1)\": a comma" },
		{ "@P0{1 2} NOP\n", -1, "x:1: formula \"1 2\": an operator" },
		{ "NOP\n", 1, "x: no formula has the parameter 'N'" },
	};
	struct listing l = { 0 };
	struct drm_vsoc_instruction *code;
	char error[256], text[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int ret = listing(bad[i].text, bad[i].n, &l, error);

		if (!EQUAL(ret, -EINVAL) || !HAS_TEXT(error, bad[i].error))
			printf("# %s\n", bad[i].text);
		if (!ret)
			listing_free(&l);
	}
	memset(text, '(', sizeof(text));
	memcpy(text, "@P0{", 4);
	strcpy(text + 100, "} NOP\n");
	CHECK(listing(text, -1, &l, error) == -EINVAL && strstr(error, "nested too deep"));

	CHECK(!listing("a:\n@!PT SHFL.IDX PT, RZ # text\r\n\t@!P1{max(N - 1, 0) * (2 + 1)} BRA a;\n"
		       "BRA -1\n2 * IMAD.MOV R1, R2\n@PT EXIT",
		       5, &l, error));
	CHECK(l.count == 6 && l.instructions[0].kind == LISTING_STEP);
	CHECK(l.instructions[0].guard == LISTING_NEVER);
	CHECK(l.instructions[1].guard == LISTING_TIMES);
	CHECK(l.instructions[1].guard_times == 12 && l.instructions[1].target == 0);
	CHECK(l.instructions[2].target == 1 && l.instructions[2].kind == LISTING_BRANCH);
	CHECK(l.instructions[5].kind == LISTING_EXIT && !l.instructions[5].guard);
	code = instructions_of(&l, error, sizeof(error));
	CHECK(code && code[0].opcode == DRM_VSOC_OP_SHFL && code[4].opcode == DRM_VSOC_OP_IMAD);
	CHECK(code && code[0].guard == DRM_VSOC_GUARD_FALSE && code[1].target == 0);
	CHECK(code && code[1].guard == DRM_VSOC_GUARD_TIMES && code[1].guard_times == 12);
	CHECK(code && code[5].opcode == DRM_VSOC_OP_EXIT && code[5].guard == DRM_VSOC_GUARD_TRUE);
	free(code);
	strcpy(l.mnemonics[0], "SHUFFLE.IDX");
	CHECK(!instructions_of(&l, error, sizeof(error)));
	EQUAL_TEXT(error, "'SHUFFLE.IDX' is no instruction of the virtual SoC");
	listing_free(&l);
}

TEST("commands have listings with parameters")
{
	char line[256], path[] = "/tmp/test-tools-XXXXXX", error[256];
	struct job job = { 0 };
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, "@P0{N} NOP\nEXIT\n", 17) == 17);
	close(fd);
	snprintf(line, sizeof(line), "x2 compute threads=16 listing=%s N=3 compute threads=1",
		 path);
	CHECK(!parse(&job, line, error) && job.count == 3 && job.listing_count == 1);
	CHECK(job.commands[0].compute.listing == job.commands[1].compute.listing);
	CHECK(job.commands[1].compute.listing_count == 2);
	CHECK(job.listings[0][0].guard_times == 3);
	CHECK(!job.commands[2].compute.listing);
	CHECK(parse(&job, "compute threads=16 N=3", error) == -EINVAL && strstr(error, "listing="));
	CHECK(parse(&job, "compute listing=/nonexistent", error) == -EINVAL);
	snprintf(line, sizeof(line), "compute listing=%s", path);
	CHECK(parse(&job, line, error) == -EINVAL && strstr(error, ":1:"));
	snprintf(line, sizeof(line), "compute listing=%s N=x", path);
	CHECK(parse(&job, line, error) == -EINVAL && strstr(error, "N=x"));
	CHECK(parse(&job, "draw N=3", error) == -EINVAL);
	unlink(path);
	job_free(&job);
}

TEST("a random workload repeats")
{
	const struct drm_vsoc_info info = {
		.sockets = 2, .root_complexes = 6, .root_ports = 8, .gpus = 1
	};
	struct workload_random a = { .state = 7, .info = &info }, b = a;
	struct job x = { 0 }, y = { 0 };
	bool same = true;

	for (int i = 0; i < 200; i++) {
		workload_random_job(&a, &x);
		workload_random_job(&b, &y);
		same &= x.count == y.count &&
			!memcmp(x.commands, y.commands, x.count * sizeof(*x.commands));
	}
	CHECK(same);
	job_free(&x);
	job_free(&y);
}
