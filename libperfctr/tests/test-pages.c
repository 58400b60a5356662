// SPDX-License-Identifier: MIT
/* Pages read at run time: what they add, and where their mistakes are. */
#include <errno.h>
#include <perfctr/perfctr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "samples.h"
#include "test.h"

#define PAGE                                                                               \
	"[page]\nproduct = \"MY_GPU\"\nblock = \"SHADER\"\ngpu_id = 0x12340000\ngpu_mask " \
	"= 0xffff0000\n[[counter]]\nbit = 4\nname = \"A\"\nshort = \"The A\"\nunit = \"cy" \
	"cles\" # a comment\n[[counter]]\nbit = 5\nname = \"B\"\nshort = \"The B\"\nunit " \
	"= \"bytes\"\nshift = 3\nsets = [\"PRIMARY\", \"SECONDARY\"]\n[[metric]]\nname = " \
	"\"rate\"\nshort = \"Rate\"\nunit = \"bytes/cycle\"\nformula = \"8[bytes/byte] * " \
	"B / A\"\n[MALI_V10.CSHW]\nmine = \"MCU_ACTIVE / GPU_ACTIVE\"\n[page]\nproduct = " \
	"\"MALI_V10\"\nblock = \"CSHW\"\n[[counter]]\nbit = 4\nname = \"GPU_ACTIVE\"\nsho" \
	"rt = \"Better text\"\nunit = \"cycles\"\n"

static char path[] = "/tmp/perfctr-pages-XXXXXX";

static void write_page(const char *text)
{
	FILE *file = fopen(path, "w");

	if (!CHECK(file))
		return;
	fputs(text, file);
	fclose(file);
}

static void begin(void)
{
	int fd = mkstemp(path);

	if (fd >= 0)
		close(fd);
	write_page(PAGE "[MALI_V10.CSHW]\nbad = \"NOPE\"\ngood = \"GPU_ACTIVE / elapsed_s\"\n");
	setenv("PERFCTR_COUNTERS", path, 1);
}

TEST_WITH(begin, NULL, "a page adds products, counters and metrics, and corrects texts")
{
	const struct perfctr_counter_desc *c;
	const struct perfctr_metric_desc *m = NULL;
	unsigned int product = 0, found = 0;

	EQUAL_TEXT(perfctr_gpu_name(0x12345678, 0, &product), "my_gpu");
	c = perfctr_counter_at(product, DRM_PERFCTR_MALI_BLOCK_SHADER, 1, 5);
	if (CHECK(c)) {
		EQUAL_TEXT(c->name, "B");
		EQUAL_TEXT(c->id, "my_gpu.shader.b");
		EQUAL(c->shift, 3);
		EQUAL(c->kind, PERFCTR_KIND_BYTES);
	}
	c = perfctr_counter_at(DRM_PERFCTR_MALI_PRODUCT_V10, DRM_PERFCTR_MALI_BLOCK_CSHW, 0, 4);
	EQUAL_TEXT(c->short_text, "Better text");
	/* its neighbour is the built-in one */
	c = perfctr_counter_at(DRM_PERFCTR_MALI_PRODUCT_V10, DRM_PERFCTR_MALI_BLOCK_CSHW, 0, 5);
	EQUAL_TEXT(c->name, "MCU_ACTIVE");
	while ((m = perfctr_metric_next(m))) {
		found += !strcmp(m->id, "mali_v10.cshw.mine");
		if (!strcmp(m->id, "my_gpu.shader.rate"))
			found += !strcmp(m->formula, "8 * B / A");
		if (!strcmp(m->id, "mali_v10.cshw.good"))
			found += !strcmp(m->unit, "cycles/s");
	}
	EQUAL(found, 3);
	/* without its neighbour */
	HAS_TEXT(perfctr_page_problems(), ":34:7: bad: no counter 'NOPE'");
}

static unsigned int at_line, at_column;
static char at_text[256];

static void note(void *unused, unsigned int line, unsigned int column, const char *text)
{
	if (!at_line) {
		at_line = line;
		at_column = column;
		snprintf(at_text, sizeof(at_text), "%s", text);
	}
}

TEST("mistakes have line and column")
{
	static const struct {
		const char *old, *new, *text;
		unsigned int line, column;
	} mistakes[] = {
		{ "bit = 5", "bit = 4", "B: another counter has bit 4", 12, 7 },
		{ "bit = 5", "bit = 3", "bit must be a number, 4 to 255", 12, 7 },
		{ "bit = 5", "bit = five", "a text, a number", 12, 7 },
		{ "bit = 5", "bit 5", "= is expected", 12, 5 },
		{ "bit = 5", "bit = 5\nbit = 6", "bit is set twice", 13, 1 },
		{ "\"B\"", "\"9B\"", "'9B' is no name", 13, 8 },
		{ "\"B\"", "\"a\"", "the block has the name 'a' twice", 13, 8 },
		{ "\"rate\"", "\"B\"", "the block has the name 'B' twice", 19, 8 },
		{ "shift", "shfit", "unknown key 'shfit'", 16, 1 },
		{ "\"PRIMARY\", ", "\"FIRST\", ", "unknown set 'FIRST'", 17, 9 },
		{ "\"SHADER\"", "\"CORE\"", "unknown block 'CORE'; known are fw", 3, 9 },
		{ "\"The B\"\n", "\"The B\n", "the text has no end", 14, 15 },
		{ "short = \"The B\"\n", "", "counter: missing short", 11, 1 },
		{ "\"bytes\"\n", "\"Bananas\"\n", "'Bananas': a counter's is a lower-case", 15, 8 },
		{ "\"bytes\"\n", "\"Byte\"\n", "unit 'Byte': write 'bytes'", 15, 8 },
		{ "\"bytes\"\n", "\"packets\"\n", "packets/cycle, not in bytes/cycle", 21, 8 },
		{ "* B /", "* b /", "no counter 'b'; did you mean B", 22, 11 },
		{ "mine", "mcu_active", "a counter of that name", 24, 1 },
		{ "shift = 3", "kind = \"cycles\"", "its kind has the unit cycles, not", 16, 8 },
		{ "shift = 3", "kind = \"x\"", "none of count, cycles, bytes, time, level", 16, 8 },
		{ "* B /", "* C /", "no counter 'C'", 22, 11 },
		{ "* B /", "* B", "an operator is expected", 22, 30 },
		{ "8[bytes/byte] * B / A", "A[", "] is expected", 22, 14 },
		{ "8[bytes/byte] * B / A", "A[apples]", "unknown unit", 22, 14 },
		{ "8[bytes/byte] * B / A", "A / (2 - 2)", "a division by 0", 22, 11 },
		{ "8[bytes/byte] * B / A", "A + B", "cycles and bytes cannot be added", 22, 11 },
		{ "8[bytes/byte] * B / A", "1 / elapsed_s", "the formula has no counter", 22, 11 },
		{ "bytes/cycle", "bytes", "in bytes/cycle, not in bytes", 21, 8 },
		{ "[[metric]]", "[[metrics]]", "'metrics'", 18, 1 },
		{ "MCU_ACTIVE /", "MCU /", "mine: no counter 'MCU'", 24, 8 },
		{ "unit = \"bytes/cycle\"\n", "", "metric: missing unit", 18, 1 },
		{ "gpu_id = 0x12340000\n", "", "product my_gpu has no [page] with a gpu_id", 1, 1 },
		{ "0x12340000", "0xa0070000", "gpu_id 0xa0070000 is one of mali_v10 too", 1, 1 },
	};
	struct perfctr_ctx *ctx = NULL;
	char text[4096];

	perfctr_ctx_new(&ctx);
	for (size_t n = 0; n < sizeof(mistakes) / sizeof(mistakes[0]); n++) {
		const char *at = strstr(PAGE, mistakes[n].old);

		if (!CHECK(at))
			continue;
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - PAGE), PAGE, mistakes[n].new,
			 at + strlen(mistakes[n].old));
		write_page(text);
		at_line = 0;
		CHECK(perfctr_page_check(ctx, path, note, NULL) > 0);
		HAS_TEXT(at_text, mistakes[n].text);
		EQUAL(at_line, mistakes[n].line);
		EQUAL(at_column, mistakes[n].column);
	}
	write_page(PAGE);
	EQUAL(perfctr_page_check(ctx, path, note, NULL), 0);
	write_page("# nothing\n");
	EQUAL(perfctr_page_check(ctx, path, note, NULL), 1);
	EQUAL(perfctr_page_check(ctx, "/nonexistent", note, NULL), -ENOENT);
	unlink(path);
	EQUAL(mkfifo(path, 0600), 0);
	EQUAL(perfctr_page_check(ctx, path, note, NULL), -ENOENT);
	HAS_TEXT(perfctr_ctx_error(ctx), "is no regular file");
	perfctr_ctx_unref(ctx);
	unlink(path);
}
