// SPDX-License-Identifier: MIT
/* perfctr validate: the solver against brute force, places of errors in files. */
#include <stdlib.h>
#include <string.h>

#include "validate/campaign.h"
#include "validate/disassembly.h"
#include "validate/measured.h"
#include "validate/solve.h"

#include "tests/test.h"

enum { VARIABLES = 6, ROWS = 4, TRIES = 1500, STEPS = 7 };

static uint64_t state = 1;

static uint64_t below(uint64_t limit)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (state >> 33) % limit;
}

/* Enumerates all weights; @allowed and the count must equal the solver's. */
static void against_brute_force(void)
{
	int64_t c[ROWS][VARIABLES];
	struct solve_row rows[ROWS];
	unsigned int max[VARIABLES];
	weight_set allowed[VARIABLES] = { 0 }, choices[VARIABLES];
	size_t n = 1 + below(VARIABLES), m = below(ROWS + 1);
	struct solve_problem problem = { choices, rows, n, m };
	struct failure failure = { "" };
	struct arena arena = { 0 };
	struct space space;
	uint64_t total = 1, solutions = 0;
	uint8_t weights[VARIABLES] = { 0 };

	for (size_t v = 0; v < n; v++) {
		max[v] = (unsigned int)below(4);
		choices[v] = weights_up_to(max[v]) & (below(3) ? ALL_WEIGHTS : below(16));
		/* a set with a large weight, as of the lanes of a warp */
		if (!v && !below(16)) {
			choices[v] |= weight_bit(32);
			max[v] = 32;
		}
		total *= max[v] + 1;
	}
	for (size_t r = 0; r < m; r++) {
		int64_t sum = 0, scale = below(3) ? 1 : 1024;

		for (size_t v = 0; v < n; v++) {
			c[r][v] = below(3) ? ((int64_t)below(7) - 1) * scale : 0;
			sum += c[r][v] * (int64_t)below(max[v] + 1);
		}
		/* exact, with a tolerance, or impossible */
		rows[r] = (struct solve_row){ c[r], sum - (int64_t)below(2) * 3,
					      sum + (int64_t)below(2) * 2 };
		if (!below(3))
			rows[r].lo = rows[r].hi = sum + !below(4);
	}
	for (uint64_t i = 0; i < total; i++) {
		uint64_t rest = i;
		bool fits = true;

		for (size_t v = 0; v < n; v++) {
			weights[v] = (uint8_t)(rest % (max[v] + 1));
			rest /= max[v] + 1;
			fits &= choices[v] >> weights[v] & 1;
		}
		for (size_t r = 0; r < m; r++) {
			int64_t sum = 0;

			for (size_t v = 0; v < n; v++)
				sum += c[r][v] * weights[v];
			fits &= sum >= rows[r].lo && sum <= rows[r].hi;
		}
		solutions += fits;
		for (size_t v = 0; fits && v < n; v++)
			allowed[v] |= weight_bit(weights[v]);
	}
	CHECK(!solve(&arena, &problem, &space, &failure));
	CHECK(space.solutions == solutions);
	CHECK(!memcmp(space.allowed, allowed, n * sizeof(*allowed)));
	for (uint64_t i = 0; i < solutions && i < 20; i++) {
		space_solution(&space, i, weights);
		for (size_t r = 0; r < m; r++) {
			int64_t sum = 0;

			for (size_t v = 0; v < n; v++)
				sum += c[r][v] * weights[v];
			CHECK(sum >= rows[r].lo && sum <= rows[r].hi);
		}
	}
	arena_free(&arena);
}

TEST("2^60 rules are counted without an enumeration")
{
	enum { MANY = 60 };
	int64_t c[MANY];
	weight_set choices[MANY];
	struct solve_row row = { c, MANY / 2, MANY / 2 };
	struct solve_problem problem = { choices, &row, MANY, 1 };
	struct failure failure = { "" };
	struct arena arena = { 0 };
	struct space space;

	for (size_t v = 0; v < MANY; v++) {
		c[v] = 1;
		choices[v] = weights_up_to(1);
	}
	CHECK(!solve(&arena, &problem, &space, &failure));
	/* 60 over 30 */
	CHECK(space.solutions == UINT64_C(118264581564861424));
	arena_free(&arena);
}

TEST("sums beyond 64 bits give a correct result or an error")
{
	const int64_t c[] = { INT64_C(4000000000000000000), INT64_C(4000000000000000001) };
	const weight_set small[] = { weights_up_to(1), weights_up_to(0) };
	const weight_set large[] = { weights_up_to(2), weights_up_to(2) };
	struct solve_row row = { c, 2 * (c[0] / 2) - 1, INT64_MAX };
	struct solve_problem problem = { small, &row, 2, 1 };
	struct failure failure = { "" };
	struct arena arena = { 0 };
	struct space space;

	CHECK(!solve(&arena, &problem, &space, &failure));
	CHECK(space.solutions == 1);
	/* beyond the reachable range */
	row.lo = row.hi;
	CHECK(!solve(&arena, &problem, &space, &failure));
	CHECK(space.solutions == 0);
	row.lo = row.hi = 2 * c[0];
	problem.choices = large;
	CHECK(solve(&arena, &problem, &space, &failure) < 0);
	CHECK(strstr(failure.text, "62 bits"));
	arena_free(&arena);
}

static const char sass[] =
	"\tcode for sm_72\n\t\tFunction : _Z4loopPfi\n"
	"\t.headerflags    @\"EF_CUDA_SM72\"\n"
	"        /*0000*/                   MOV R1, c[0x0][0x28] ;  /* 0x00000a0000017a02 */\n"
	"                                                          /* 0x000fd00000000f00 */\n"
	"        /*0010*/              @!PT SHFL.IDX PT, RZ, RZ, RZ, RZ ;\n"
	"        /*0020*/              @!P0 EXIT ;\n"
	"        /*0030*/                   LDG.E.128.CONSTANT.SYS.STRONG R2, [R2.64+0x4] ;\n"
	".L_x_1:\n"
	"        /*0040*/                   IADD3 R5, R5.reuse, 0x1, RZ ;\n"
	"        /*0050*/              @!P1 BRA `(.L_x_1) ;\n"
	"        /*0060*/               @PT EXIT ;\n"
	"        /*0070*/                   BRA 0x70;\n\t\t..........\n";
static const char arm64[] = "0000000000000000 <kernel>:\n"
			    "   0:\td2800001 \tmov\tx1, #0x0 \t// #0\n"
			    "   4:\t91000421 \tadd\tx1, x1, #0x1\n"
			    "   8:\t54ffffc3 \tb.cc\t4 <kernel+0x4>  // b.lo, b.ul\n"
			    "   c:\t14000002 \tb\t10 <kernel+0x10>\n"
			    "  10:\tb4000020 \tcbz\tx0, 14\n"
			    "  14:\td65f03c0 \tret\n";
static const char x86[] =
	"0000000000001139 <a>:\n    1139:\tf3 c3                \trepz ret\n"
	"000000000000113b <b>:\n    113b:\t48 b8 88 77 66 55 44 \tmovabs $0x1,%rax\n"
	"    1142:\t33 22 11 \n    1145:\t74 f4   \tje     113b <b>\n"
	"    1147:\tc3                   \tret\n";

static void check_text(const char *text, const char *wanted)
{
	CHECK(text && !strcmp(text, wanted));
	if (!text || strcmp(text, wanted) != 0)
		printf("# %s\n", text ? text : "refused");
}

static const char *converted(struct arena *arena, const char *text, const char *symbol,
			     struct taken *taken, size_t count, struct failure *failure)
{
	struct disassembly d = {
		.arena = arena,
		.name = "f",
		.text = text,
		.symbol = symbol,
		.taken = taken,
		.count = count,
		.failure = failure,
	};

	return convert_disassembly(&d);
}

TEST("disassembled programs become listings, line by line")
{
	struct taken gpu[] = { { 0x20, false, "0", false }, { 0x50, false, "N - 1", false } };
	struct taken cpu[] = { { 0x8, false, "N", false }, { 0x10, false, "1", false } };
	struct taken one = { 0x1145, false, "0", false };
	static const struct {
		const char *text, *listing;
		uint64_t jump;
	} printed[] = {
		/* llvm-objdump; prefixes; an unconditional jump */
		{ "4: 66 90 \tdata16\tcs nopw\t(%rax)\n6: eb fc \tjmp\t0x4 <f>\n8: c3\tretq\n",
		  "nopw\n@PT{N} BRA.jmp -1\nEXIT", 0x6 },
		/* a mnemonic that is hexadecimal; a jump on a predicate of its own; SYNC */
		{ "4:\tfadd\td0, d0, d1\n8:\tbc.eq\t4 <f(int, int)>\nc:\tret\n",
		  "fadd\n@P0{N} BRA.bc.eq -1\nEXIT", 0x8 },
		{ "/*0*/ BSSY B0, 0x20 ;\n/*10*/ BSYNC B0;\n/*20*/ SYNCS [UR4];\n"
		  "/*30*/ @PT BRA.DIV ~URZ, 0x40 ;\n/*40*/ EXIT;\n",
		  "BSSY\nBSYNC\nSYNCS\n@P0{N} BRA.DIV +1\nEXIT", 0x30 },
		/* blanks in the address, numbers of lines, uniform predicates that are constant */
		{ "/* 0000 */ MOV R1 ;\n 2  /*0010*/ @!UPT UMOV UR1 ;\n3:/* 0020 */ @UPT EXIT ;\n",
		  "MOV\n@!PT UMOV\nEXIT", 0 },
		{ "1:   0:\td2800001 \tmov\tx1, #0x0\n     2\t   4:\td65f03c0 \tret\n", "mov\nEXIT",
		  0 },
		/* words of control between instructions of 8 bytes: Maxwell */
		{ "/*0008*/ MOV R1 ;\n/*0010*/ MOV R2 ;\n/*0018*/ MOV R3 ;\n/*0028*/ EXIT ;\n",
		  "MOV\nMOV\nMOV\nEXIT", 0 },
		/* RISC-V, with short instructions, and without its bytes */
		{ "f: file format elf64-littleriscv\n0000000000010078 <f>:\n"
		  "   10078:\t4781                \tli\ta5,0\n"
		  "   1007a:\t0785                \taddi\ta5,a5,1\n"
		  "   1007c:\tfea79fe3          \tbne\ta5,a0,1007a <f+0x2>\n"
		  "   10080:\t8082                \tret\n",
		  "\n\nli\naddi\n@P0{N} BRA.bne -1\nEXIT", 0x1007c },
		{ "0:\tmv\ta5,a0\n2:\tj\t6 <f+0x6>\n4:\tnop\n6:\tbnez\ta5,2 <f+2>\n8:\tret\n",
		  "mv\nBRA.j +2\nnop\n@P0{N} BRA.bnez -2\nEXIT", 0x6 },
	};
	struct failure failure = { "" };
	struct arena arena = { 0 };

	CHECK(is_disassembly(sass) && is_disassembly(arm64) && is_disassembly(x86));
	CHECK(!is_disassembly("loop:\tMOV R1\n\tEXIT\n") && !is_disassembly(""));
	check_text(converted(&arena, sass, NULL, gpu, 2, &failure),
		   "\n\n\nMOV\n\n@!PT SHFL.IDX\n@P0{0} EXIT\nLDG.E.128.CONSTANT.SYS.\n\nIADD3\n"
		   "@P0{N - 1} BRA -1\nEXIT\nBRA +0");
	check_text(converted(&arena, arm64, NULL, cpu, 2, &failure),
		   "\nmov\nadd\n@P0{N} BRA.b.cc -1\nBRA.b +1\n@P0{1} BRA.cbz +1\nEXIT");
	check_text(converted(&arena, x86, "b", &one, 1, &failure),
		   "\n\n\nmovabs\n\n@P0{0} BRA.je -1\nEXIT");
	for (size_t i = 0; i < ARRAY_SIZE(printed); i++) {
		struct taken jump = { printed[i].jump, false, "N", false };
		struct failure why = { "" };

		check_text(converted(&arena, printed[i].text, NULL, &jump, printed[i].jump != 0,
				     &why),
			   printed[i].listing);
		if (*why.text)
			printf("# %zu: %s\n", i, why.text);
	}
	arena_free(&arena);
}

TEST("a program whose flow is not static is refused, with line and column")
{
	static const struct {
		const char *text, *symbol, *message;
		uint64_t taken; /* 0: none */
	} cases[] = {
		{ sass, NULL, "f:7:31: how often it is executed", 0x50 },
		{ sass, NULL, "f:11:31: how often it is executed", 0x20 },
		{ sass, NULL, "\"taken\": {\"0x20\": FORMULA, \"0x50\": FORMULA}", 0 },
		/* lines that are missing, or stand twice */
		{ " /*0000*/ MOV ;\n /*0010*/ MOV ;\n /*0030*/ EXIT ;\n", NULL,
		  "f:3:1: instructions between 0x10 and 0x30 are missing", 0 },
		{ " /*0000*/ MOV ;\n /*0010*/ MOV ;\n /*0010*/ MOV ;\n /*0020*/ EXIT ;\n", NULL,
		  "f:3:1: address 0x10 does not follow 0x10", 0 },
		{ " /*0050*/ MOV ;\n /*0060*/ EXIT ;\n", NULL,
		  "f:1:1: the first instruction is at 0x50, the function begins at 0x0", 0 },
		{ "10 <f>:\n  14:\tc3 \tret\n", NULL, "f:2:1: the first instruction is at 0x14",
		  0 },
		{ "0:\t48 89 f8 \tmov %rdi,%rax\n4:\tc3 \tret\n", NULL,
		  "f:2:1: instructions between 0x0 and 0x4 are missing", 0 },
		{ "0:\td2800001 \tmov\tx1, #0x0\n8:\td65f03c0 \tret\n", NULL,
		  "f:2:1: instructions between 0x0 and 0x8 are missing", 0 },
		{ " /*0000*/ MOV ;\n R1 = 5; /*0010*/ MOV ;\n /*0020*/ EXIT ;\n", NULL, "f:2:", 0 },
		{ x86, NULL, "one of: a, b", 0x1145 },
		{ x86, "c", "no function c; there are: a, b", 0x1145 },
		{ x86, "a", "\"taken\" names 0x1145, where there is no", 0x1145 },
		{ "1:\tff e0 \tjmp    *%rax\n", NULL, "f:1:18: the branch's target", 0 },
		{ "a:\tff e0 \tjmp    rax\n", NULL, "f:1:18: the branch's target", 0 },
		{ "1:\t67 e8 \taddr32 call 1 <x>\n", NULL, "f:1:18: where it goes", 0 },
		{ "1:\td63f083f \tbraaz x1\n", NULL, "f:1:14: where it goes", 0 },
		{ "1:\tcd 80 \tint    $0x80\n", NULL, "f:1:11: where it goes", 0 },
		{ "1:\t06 \t(bad)\n2:\tc3 \tret\n", NULL, "f:1:8: this is no instruction", 0 },
		{ "1:\tc3 \tret\n2:\teb \tjmp 1 <x>\n", NULL, "f:2:8: how often", 0 },
		{ "1 <a>:\n1:\tc3 \tret\n2 <a>:\n2:\tc3 \tret\n", "a", "f:3:4: a second", 0 },
		{ "1 <n::f(int)>:\n1:\tc3 \tret\n", "n", "there are: n::f(int)", 0 },
		{ " /*0*/ BRA.U UP0, 0x0 ;\n", NULL, "f:1:8: how often it is executed", 0 },
		{ " /*0*/ BSYNC B0 ;\n /*10*/ EXIT ;\n", NULL, "f:1:8: where it goes", 0 },
		{ "1:\te8 00 \tcall   9 <x>\n", NULL, "f:1:11: where it goes", 0 },
		{ "1:\teb 00 \tjmp    9 <x>\n", NULL, "f:1:18: the branch leaves", 0 },
		{ "1:\teb 00 \tjmp    <x>\n", NULL, "f:1:18: the branch's target", 0 },
		{ " /*0000*/ BRX R2 -0x10 ;\n", NULL, "f:1:11: where it goes", 0 },
		{ " /*0000*/ BRA `(.L_9) ;\n", NULL, "f:1:15: the branch leaves", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct taken taken = { cases[i].taken, false, "1", false };
		struct failure failure = { "" };
		struct arena arena = { 0 };

		CHECK(!converted(&arena, cases[i].text, cases[i].symbol, &taken,
				 cases[i].taken != 0, &failure));
		if (!strstr(failure.text, cases[i].message))
			printf("# %zu: %s\n", i, failure.text);
		CHECK(strstr(failure.text, cases[i].message));
		arena_free(&arena);
	}
}

TEST("a program of a machine that is not supported is refused")
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "0:\t0197 \tsbiw\tr24, 0x01\n2:\tf1f7 \tbrne\t.-4\n", "programs of AVR are" },
		{ "0:\t9c63ffff \tl.addi\tr3,r3,-1\n", "programs of OpenRISC are" },
		/* RISC-V's branches that go elsewhere */
		{ "f: file format elf64-littleriscv\n0:\t00000073\tecall\n", "where it goes" },
		{ "f: file format elf64-littleriscv\n0:\t9782  \tjalr\ta5\n", "where it goes" },
		{ "f: file format elf64-littleriscv\n0:\t8782  \tjr\ta5\n", "where it goes" },
		{ "f: file format elf64-littleriscv\n0:\tff9ff0ef\tjal\t0 <f>\n", "where it goes" },
		/* the encoding of ret is not arm64's */
		{ "0:\tadd\tx10,x10,x11\n4:\t00008067\tret\n", "f:2:13" },
		{ "0:\t02fffc84 \taddi.w\t$a0, $a0, -1\n4:\t47fffc9f \tbnez\t$a0, -4\t# 0 <f>\n",
		  "programs of LoongArch are" },
		{ "0:\t2484ffff\taddiu\ta0,a0,-1\n4:\t1480fffe\tbnez\ta0,0 <f>\n"
		  "8:\t03e00008\tjr\tra\n",
		  "programs of MIPS are" },
		{ "0:\t3863ffff \taddi    r3,r3,-1\n4:\t4200fffc \tbdnz    0 <f>\n"
		  "8:\t4e800020 \tblr\n",
		  "programs of PowerPC are" },
		{ "0:\ta7 2b ff ff \taghi\t%r2,-1\n4:\ta7 74 ff fe \tjne\t0 <f>\n"
		  "8:\t07 fe \tbr\t%r14\n",
		  "programs of s390x are" },
		{ "0:\t90 02 3f ff \tadd\t%o0, -1, %o0\n4:\t12 bf ff ff \tbne\t0 <f>\n"
		  "8:\t81 c3 e0 08 \tretl\n",
		  "programs of SPARC are" },
		{ "0:\te2500001 \tsubs\tr0, r0, #1\n4:\t1afffffd \tbne\t0 <f>\n"
		  "8:\te12fff1e \tbx\tlr\n",
		  "programs of 32-bit Arm are" },
		{ "f:\tfile format elf32-nios2\n0:\taddi\tr2,r2,1\n", "of elf32-nios2 are" },
		{ "f:\tfile format elf64-amdgpu\n\ts_cbranch_scc1 4 // 0: BF850004\n",
		  "programs of AMD GCN or RDNA are" },
		{ " /*0000*/ s_cbranch_scc1 0x4 ;\n", "programs of AMD GCN or RDNA are" },
		{ "0:\tnop\n4:\tret\n", "which machine this program is for" },
	};
	/* what looks like another machine's: addresses, and formats of the supported ones */
	static const char *const fine[] = {
		"a0:\t48 ff c8 \tdec    %rax\na3:\t75 fb \tjne    a0\na5:\tc3 \tret\n",
		"x.o:     file format pei-x86-64\n0:\tnop\n1:\tret\n",
		"x.o:\tfile format mach-o arm64\n0:\tnop\n4:\tret\n",
		"a0:\tsubs\tx0, x0, #1\na4:\tb.ne\ta0 <f>\na8:\tret\n",
		"0:\td65f03c0 \tret\n",
		"0:\tc3 \tret\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct failure failure = { "" };
		struct arena arena = { 0 };

		CHECK(is_disassembly(cases[i].text));
		CHECK(!converted(&arena, cases[i].text, NULL, NULL, 0, &failure));
		if (!strstr(failure.text, cases[i].message))
			printf("# %zu: %s\n", i, failure.text);
		CHECK(strstr(failure.text, cases[i].message));
		arena_free(&arena);
	}
	for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
		struct taken taken[] = { { 0xa3, false, "1", false }, { 0xa4, false, "1", false } };
		struct failure failure = { "" };
		struct arena arena = { 0 };

		if (!converted(&arena, fine[i], NULL, i == 3 ? &taken[1] : taken, i == 0 || i == 3,
			       &failure))
			printf("# %zu: %s\n", i, failure.text);
		CHECK(!*failure.text);
		arena_free(&arena);
	}
}

TEST("damaged disassembly is converted or refused")
{
	static const char *const texts[] = { sass, arm64, x86 };
	static const char some[] = " \t\n/*@!P.<>:;(`b0";

	for (int round = 0; round < 20000; round++) {
		const char *from = texts[round % 3];
		struct taken taken = { below(0x100), false, "1", false };
		size_t length = strlen(from);
		struct failure failure = { "" };
		struct arena arena = { 0 };
		char *text = arena_copy(&arena, from, length);

		for (uint64_t n = below(8); n-- > 0;)
			text[below(length)] = some[below(sizeof(some) - 1)];
		text[length - below(length)] = '\0';
		if (!converted(&arena, text, NULL, &taken, below(2), &failure))
			CHECK(*failure.text);
		arena_free(&arena);
	}
}

static int parse(struct arena *arena, const char *text, size_t length, struct campaign *campaign,
		 struct measured *measured, struct failure *failure)
{
	struct document file = {
		.name = "f", .text = text, .length = length, .arena = arena, .failure = failure
	};
	int ret = measured_open(&file);

	if (!ret) {
		measured_campaign(&file);
		ret = measured_parse(&file, campaign, measured);
	}
	document_free(&file);
	return ret;
}

static void bad_file(struct campaign *campaign, const char *text, const char *where)
{
	struct measured measured;
	struct failure failure = { "" };
	struct arena arena = { 0 };
	/* a copy, so that a sanitizer sees a read beyond its end */
	char *copy = strdup(text);

	CHECK(parse(&arena, copy, strlen(copy), campaign, &measured, &failure) < 0);
	HAS_TEXT(failure.text, where);
	free(copy);
	arena_free(&arena);
}

#define CSV "benchmark,event,value\n"
#define JSON "{\"rows\": [{\"benchmark\": \"matrix-copy\", \"event\": \"DMOV\""
static const struct {
	const char *text, *where;
} bad_files[] = {
	{ "", "f:1:1: the file is empty" },
	{ "benchmark,event\n", "f:1:1: a column is missing in the header: value" },
	{ "benchmark,event,value,colour\n", "f:1:23: neither a known column" },
	{ "benchmark,event,value,value\n", "f:1:23: this column stands twice" },
	{ CSV, "f:1:1: no measurement follows" },
	{ CSV "matrix-copy,DMOV,many\n", "f:2:18: 'value' is not a number" },
	{ CSV "matrix-copy,DMOV,-1\n", "f:2:18: 'value' is negative" },
	{ CSV "matrix-copy,DMOV,\n", "f:2:1: no measurement follows the header" },
	{ CSV "matrix-copy,DMOV,1.5\n", "f:2:18: 'value' is not an integer" },
	{ CSV "matrix-copy,DMOV,18446744073709551616\n", "f:2:18: 'value' is beyond 2^64-1" },
	{ CSV "matrix-copy,DMOV,1x\n", "f:2:18: 'value' is not a number" },
	{ CSV "matrix-copy,DMOV\n", "f:2:13: fewer cells" },
	{ CSV "matrix-copy,DMOV,1,2\n", "f:2:20: more cells" },
	{ CSV "matrix-copy,what,1\n", "f:2:13: the campaign has no such event" },
	{ CSV "something,DMOV,1\n", "f:2:1: the campaign has no such benchmark" },
	{ CSV "float-loop,DMOV,1\n", "f:2:1: the benchmark needs a column for its parameter: N" },
	{ "benchmark,event,value,N\nmatrix-copy,DMOV,1,3\n",
	  "f:2:20: the benchmark has no such parameter" },
	{ "benchmark,event,value,N\nfloat-loop,DMOV,1,-3\n", "f:2:19: 'N' is negative" },
	{ CSV "matrix-copy,DMOV,1\n\n# x\nmatrix-copy,DMOV,2\n", "f:5:1: the same benchmark" },
	{ CSV "matrix-copy,\"DMOV,1\n", "f:2:13: the cell has no closing quote" },
	{ CSV "matrix-copy,DM\"OV,1\n", "f:2:15: a quote in the middle" },
	{ "{", "f:1:2: " },
	{ "{\"rows\": []}", "f:1:10: there is no measurement" },
	{ "[]", "f:1:1: measurements are an object" },
	{ "{\"rows\": [],\n \"rows\": []}", "f:2:2: this name stands twice" },
	{ "{\"a\": {\"b\": 1},\n \"\\u0061\": {\"b\": 1, \"c\": []}}",
	  "f:1:14: this name stands twice" },
	{ "{\"a\": [1],\n \"\\u0061\": [[2], [], {}]}", "f:1:8: this name stands twice" },
	{ "{\"rows\":\n  [{\"benchmark\": \"matrix-copy\", \"event\": \"DMOV\"}]}",
	  "f:2:4: 'value' is missing" },
	{ JSON ",\n\"value\": \"7\"}]}", "f:2:10: 'value' must be a number" },
	{ JSON ",\n\"value\": -7}]}", "f:2:10: 'value' is -7: negative" },
	{ JSON ",\n\"value\": 18446744073709551616}]}",
	  "f:2:10: 'value' is 18446744073709551616: beyond" },
	{ JSON ",\n\"value\": -18446744073709551616}]}",
	  "f:2:10: 'value' is -18446744073709551616: negative" },
	{ JSON ",\n\"value\": 1, \"run\": 99999999999999999999999}]}",
	  "f:2:20: 'run' is 99999999999999999999999: beyond" },
	{ JSON ",\n\"value\": 7, \"\\\"99999999999999999999\": 99999999999999999999}]}",
	  "f:2:39: unknown member '\"99999999999999999999'" },
	{ JSON ",\n\"value\": 99999999999999999999, \"run\": 1.2.3}]}", "f:2:42: number expected" },
	{ JSON ",\n\"value\": 1.5}]}", "f:2:10: 'value' is 1.5: not an integer" },
	{ "{\"rows\": [\n{\"benchmark\": \"matrix-copy\", \"event\": \"x,\\\"]}\", \"value\": 1}]}",
	  "f:2:39: the campaign has no such event" },
	{ JSON ", \"value\": 1,\n  \"n\": null}]}", "f:1:11: unknown member 'n'" },
	{ "{\"rows\": [null]}", "f:1:10: a row is an object, not null" },
};

TEST("an error in a file of measurements has its line and column")
{
	struct campaign campaign;
	struct failure failure = { "" };
	struct arena arena = { 0 };
	struct measured measured;
	static const char good[] =
		"benchmark,N,event,value\r\n\r\n# note\r\nfloat-loop,1,\"DMOV\",7\r\n"
		"matrix-copy,,DMOV,18446744073709551615";

	CHECK(!campaign_load(&arena, "xavier-gpu", &campaign, &failure));
	CHECK(!parse(&arena, good, sizeof(good) - 1, &campaign, &measured, &failure));
	CHECK(measured.count == 2 && measured.readings[0].parameters[0] == 1 &&
	      measured.readings[1].value == UINT64_MAX);

	for (size_t n = 0; n < sizeof(bad_files) / sizeof(*bad_files); n++)
		bad_file(&campaign, bad_files[n].text, bad_files[n].where);
	arena_free(&arena);
}

TEST("any bytes give readings, or an error with line and column")
{
	static const char csv[] = "benchmark,N,event,value,run,expected\n"
				  "float-loop,1,\"DMOV\",7,0,8\nmatrix-copy,,DMOV,1,1,\n";
	static const char json[] =
		"{\"campaign\": \"xavier-gpu\", \"configuration\": {\"a\": \"b\"}, \"rows\": [{"
		"\"benchmark\": \"float-loop\", \"event\": \"DMOV\", \"parameters\": {\"N\": 3}, "
		"\"value\": 12, \"run\": 1, \"expected\": 4}]}";
	struct campaign campaign;
	struct failure failure = { "" };
	struct arena arena = { 0 };

	CHECK(!campaign_load(&arena, "xavier-gpu", &campaign, &failure));
	for (unsigned int i = 0; i < 20000; i++) {
		const char *from = i & 1 ? csv : json;
		size_t length = strlen(from), cut = below(8) ? length : below(length + 1);
		struct failure reason = { "" };
		struct arena own = { 0 };
		struct measured measured;
		char *text = malloc(length + 1);
		int ret;

		memcpy(text, from, length + 1);
		text[cut] = '\0';
		for (uint64_t n = below(4); cut && n--;)
			text[below(cut)] =
				(char)(below(2) ? "\",{}[]:\n\\-0n#"[below(13)] : (char)below(256));
		ret = parse(&own, text, cut, &campaign, &measured, &reason);
		if (ret < 0 ? strncmp(reason.text, "f:", 2) != 0 : !measured.count) {
			test_fail(__FILE__, __LINE__, "%.*s: '%s'", (int)cut, text, reason.text);
		}
		free(text);
		arena_free(&own);
	}
	arena_free(&arena);
}

enum { MANY_ROWS = 50000, ROW_BYTES = 40 };

/*
 * Many rows with quoted names; the last repeats another row. A quadratic algorithm would take too
 * long.
 */
TEST("many rows are read")
{
	char *text = malloc((MANY_ROWS + 2) * ROW_BYTES), *at = text;
	struct failure failure = { "" };
	struct measured measured;
	struct campaign campaign;
	struct arena arena = { 0 };
	struct reading again;

	CHECK(!campaign_load(&arena, "xavier-gpu", &campaign, &failure));
	at += sprintf(at, "benchmark,N,event,run,value\n");
	for (int n = 0; n < MANY_ROWS; n++)
		at += sprintf(at, "\"float-loop\",%d,\"%s\",%d,%d\n", n % 7,
			      n % 2 ? "DMOV" : "inst_misc", n, n);
	CHECK(!parse(&arena, text, (size_t)(at - text), &campaign, &measured, &failure));
	CHECK(measured.count == MANY_ROWS &&
	      measured.readings[MANY_ROWS - 1].value == MANY_ROWS - 1);
	again = measured.readings[MANY_ROWS / 2];
	CHECK(measured_add(&arena, &measured, &campaign, &again) < 0);
	again.parameters[0] += 7;
	CHECK(!measured_add(&arena, &measured, &campaign, &again));
	again = measured.readings[1];
	measured_forget(&arena, &measured, &campaign, again.event);
	CHECK(measured.count == MANY_ROWS / 2 + 1);
	CHECK(!measured_add(&arena, &measured, &campaign, &again));
	CHECK(measured_add(&arena, &measured, &campaign, &again) < 0);
	CHECK(measured_add(&arena, &measured, &campaign, &measured.readings[7]) < 0);
	at += sprintf(at, "\"float-loop\",3,\"DMOV\",3,1\n");
	CHECK(parse(&arena, text, (size_t)(at - text), &campaign, &measured, &failure) < 0);
	CHECK(!strncmp(failure.text, "f:50002:1: the same benchmark", 29));
	free(text);
	arena_free(&arena);
}

static void bad_campaign(const char *text, const char *where)
{
	char path[] = "/tmp/test-validate.XXXXXX";
	struct failure failure = { "" };
	struct campaign campaign;
	struct arena arena = { 0 };
	int fd = mkstemp(path);
	FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;

	CHECK(file && fputs(text, file) >= 0 && !fclose(file));
	CHECK(campaign_load(&arena, path, &campaign, &failure) < 0);
	HAS_TEXT(failure.text, where);
	remove(path);
	arena_free(&arena);
}

TEST("an error in a campaign has its line and column")
{
	bad_campaign("{\"campaign\": \"x\",\n \"events\": [{\"name\": \"a\",\n  \"nmae\": 1}]}",
		     ":3:11: unknown member 'nmae'");
	bad_campaign("{\"campaign\": \"x\", \"events\": [],\n\"benchmarks\": [{\"name\": \"b\"}]}",
		     ":2:16: a benchmark needs a 'listing' or 'quantities'");
	bad_campaign("{\"campaign\": \"x\",\n"
		     "\"events\": [{\"name\": \"a\", \"documented\": [\"MOV:gone\"]}]}",
		     ":2:41: 'MOV:gone': the state after the colon");
	bad_campaign("{\"campaign\": \"x\", \"anchor\": \"z\", \"events\": [], \"benchmarks\": []}",
		     ":1:1: the anchor 'z' is no event");
}

/* One step at a time; false if the thread does not end. */
static bool walk(const struct listing *l, struct tally *tallies)
{
	uint32_t used[STEPS] = { 0 };
	size_t at = 0;

	for (int steps = 0; steps < 20000 && at < l->count; steps++) {
		const struct listing_instruction *i = &l->instructions[at];
		bool on = i->guard == LISTING_ALWAYS;

		if (i->guard == LISTING_TIMES)
			used[at] = (on = used[at] < i->guard_times) ? used[at] + 1 : 0;
		*(on ? &tallies[at].on : &tallies[at].off) += 1;
		if (on && i->kind == LISTING_EXIT)
			return true;
		at = on && i->kind == LISTING_BRANCH ? i->target : at + 1;
	}
	return false;
}

TEST("loops count as their steps do")
{
	struct listing_instruction code[STEPS];
	struct listing listing = { .instructions = code, .count = STEPS };
	unsigned int ended = 0;

	for (unsigned int n = 0; n < 100000; n++) {
		struct tally slow[STEPS] = { 0 }, fast[STEPS];
		struct failure failure = { "" };
		size_t end;

		for (uint32_t i = 0; i < STEPS; i++)
			code[i] = (struct listing_instruction){
				.kind = i == STEPS - 1 ? LISTING_EXIT :
					below(2)       ? LISTING_BRANCH :
							 LISTING_STEP,
				.guard = i == STEPS - 1 || !below(4) ? LISTING_ALWAYS :
								       LISTING_TIMES,
				.target = (uint32_t)below(STEPS),
			};
		for (uint32_t i = 0; i < STEPS; i++)
			if (code[i].guard == LISTING_TIMES)
				code[i].guard_times = (uint32_t)below(9);
		if (!walk(&listing, slow))
			continue;
		ended++;
		CHECK(!listing_run(&listing, fast, &end, &failure));
		CHECK(!memcmp(slow, fast, sizeof(slow)));
	}
	CHECK(ended > 10000);
}

TEST("the solver finds what brute force finds")
{
	for (unsigned int i = 0; i < TRIES; i++)
		against_brute_force();
}

TEST("rank correlation is exact, also with ties")
{
	/* by Spearman's formula for ranks without ties: 1 - 6 sum(d^2) / (n (n^2 - 1)) */
	for (unsigned int round = 0; round < 2000; round++) {
		uint64_t x[8][2], y[8][2], squared[2];
		int64_t d = 0, sum = 0;
		int sign;

		for (unsigned int n = 0; n < 8; n++) {
			x[n][0] = n;
			y[n][0] = n;
			x[n][1] = y[n][1] = 1;
		}
		for (unsigned int n = 7; n; n--) {
			const size_t other = below(n + 1);
			const uint64_t value = y[n][0];

			y[n][0] = y[other][0];
			y[other][0] = value;
		}
		for (unsigned int n = 0; n < 8; n++) {
			d = (int64_t)n - (int64_t)y[n][0];
			sum += d * d;
			/* an order that no double keeps */
			y[n][0] += UINT64_MAX - 99;
			y[n][1] = 3;
		}
		sign = rank_correlation((const uint64_t(*)[2])x, (const uint64_t(*)[2])y, 8, 0, 0,
					squared);
		EQUAL(sign, 6 * sum < 504 ? 1 : 6 * sum > 504 ? -1 : 0);
		EQUAL((504 - 6 * sum) * (504 - 6 * sum) * (int64_t)squared[1],
		      504 * 504 * (int64_t)squared[0]);
	}

	/* two ties in four: 1, 2.5, 2.5, 4 and 1, 2, 3, 4 correlate by 9/10 squared */
	const uint64_t x[4][2] = { { 1, 2 }, { 2, 3 }, { 4, 6 }, { 1, 1 } };
	const uint64_t y[4][2] = { { 1, 1 }, { 2, 1 }, { 3, 1 }, { 4, 1 } };
	const uint64_t constant[4][2] = { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 } };
	uint64_t squared[2];

	EQUAL(rank_correlation(x, y, 4, 0, 0, squared), 1);
	EQUAL(squared[0] * 10, squared[1] * 9);
	EQUAL(rank_correlation(x, constant, 4, 0, 0, squared), 0);
	EQUAL(squared[0], 0);
}

TEST("noise orders no plateau")
{
	/* 8.9 times as long, and not by 0.01 % the same at each of the last levels */
	const uint64_t time[6][2] = { { 100000, 1 }, { 420000, 1 }, { 890060, 1 },
				      { 890020, 1 }, { 890041, 1 }, { 890000, 1 } };
	const uint64_t wait[6][2] = { { 54, 1 },      { 210, 1 },     { 44100, 100 },
				      { 44103, 100 }, { 44101, 100 }, { 44102, 100 } };
	const uint64_t other[6][2] = { { 3, 1 }, { 1, 1 }, { 5, 1 }, { 2, 1 }, { 4, 1 }, { 1, 1 } };
	uint64_t squared[2];

	EQUAL(rank_correlation(time, wait, 6, 0, 0, squared), 1);
	CHECK(100 * squared[0] < 64 * squared[1]);
	EQUAL(rank_correlation(time, wait, 6, 10, 10, squared), 1);
	EQUAL(squared[0], squared[1]);
	/* what is beyond noise is ranked as before */
	rank_correlation(time, other, 6, 10, 10, squared);
	CHECK(100 * squared[0] < 64 * squared[1]);
}

enum { WORK = 2000000 };

/* @costs: what each disturbance of a reading adds, in turn; their number grows with readings. */
static int64_t corrected(struct disturbed *readings, const uint64_t *costs)
{
	for (unsigned int n = 0; n < DISTURBED_MAX; n++) {
		readings[n] = (struct disturbed){ WORK, 1 + n % 4 };
		for (unsigned int k = 0; k < readings[n].disturbances; k++)
			readings[n].value += costs[(n + k) % 3];
	}
	return disturbed_correct(readings, DISTURBED_MAX);
}

TEST("what disturbances added is subtracted if readings agree on it")
{
	struct disturbed readings[DISTURBED_MAX];

	EQUAL(corrected(readings, (const uint64_t[]){ 2500, 2500, 2500 }), 2500);
	for (unsigned int n = 0; n < DISTURBED_MAX; n++)
		EQUAL(readings[n].value, WORK);
	EQUAL(corrected(readings, (const uint64_t[]){ 0, 0, 0 }), 0);
	EQUAL(readings[0].value, WORK);
	/* of different kinds */
	EQUAL(corrected(readings, (const uint64_t[]){ 2500, 60000, 9000 }), -1);
	CHECK(readings[0].value > WORK);

	/* most of them had two and cost 5 each; two unusual ones, of which one lost counts */
	for (unsigned int n = 0; n < DISTURBED_MAX; n++)
		readings[n] = (struct disturbed){ WORK + 5 * (n % 2 + 1), n % 2 + 1 };
	readings[3].value += 190000;
	readings[8].value = 0;
	EQUAL(disturbed_correct(readings, DISTURBED_MAX), 5);
	EQUAL(readings[DISTURBED_MAX / 2].value, WORK);
	EQUAL((int64_t)readings[0].value, -5);

	/* one with an unusual interrupt is the only one with a slope */
	for (unsigned int n = 0; n < DISTURBED_MAX; n++)
		readings[n] = (struct disturbed){ WORK + 2500, 1 };
	readings[7] = (struct disturbed){ WORK + 192500, 2 };
	EQUAL(disturbed_correct(readings, DISTURBED_MAX), -1);
	EQUAL(readings[0].value, WORK + 2500);
}
