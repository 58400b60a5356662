// SPDX-License-Identifier: MIT
/* perfctr-load: work that uses one resource of a machine, as a task or as an aggressor. */
#include "load.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/option.h"

enum {
	LINE = 64,
	CHUNKS = 1000, /* a second: so often the rate is looked at */
	FREE_CHUNK_NS = 1000000, /* without a rate: about as long */
};

/* --- kinds ------------------------------------------------------------------------------- */

/* The next part of the memory, of at most so many bytes; 0: begin anew. */
static size_t next_part(struct load *load, size_t size, uint64_t units)
{
	if (load->at >= size)
		load->at = 0;
	return units < size - load->at ? (size_t)units : size - load->at;
}

static void work_read(struct load *load, uint64_t units)
{
	while (units) {
		const size_t part = next_part(load, load->size, units);
		const uint64_t *from = (const uint64_t *)(load->memory + load->at);
		uint64_t sum = 0;

		for (size_t n = 0; n < part / sizeof(*from); n++)
			sum += from[n];
		load->sum += sum;
		load->at += part;
		units -= part;
	}
}

static void work_write(struct load *load, uint64_t units)
{
	while (units) {
		const size_t part = next_part(load, load->size, units);

		memset(load->memory + load->at, (int)(units & 0xff), part);
		load->at += part;
		units -= part;
	}
}

/* from the first half to the second one */
static void work_copy(struct load *load, uint64_t units)
{
	const size_t half = load->size / 2;

	while (units) {
		const size_t part = next_part(load, half, units);

		memcpy(load->memory + half + load->at, load->memory + load->at, part);
		load->at += part;
		units -= part;
	}
}

/* a line of memory that says where the next one is */
struct link {
	size_t next;
	unsigned char rest[LINE - sizeof(size_t)];
};

/* One cycle through all lines in random order (Sattolo), so that nothing can be fetched ahead. */
static int begin_chase(struct load *load)
{
	struct link *links = (struct link *)load->memory;
	const size_t count = load->size / sizeof(*links);
	uint64_t random = 88172645463325252u;

	for (size_t n = 0; n < count; n++)
		links[n].next = n;
	for (size_t n = count - 1; n > 0; n--) {
		size_t other, next = links[n].next;

		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		other = (size_t)(random % n);
		links[n].next = links[other].next;
		links[other].next = next;
	}
	return 0;
}

static void work_chase(struct load *load, uint64_t units)
{
	const struct link *links = (const struct link *)load->memory;
	size_t at = load->at;

	while (units--)
		at = links[at].next;
	load->at = at;
	load->sum += at;
}

static void work_spin(struct load *load, uint64_t units)
{
	uint64_t x = load->sum | 1;

	while (units--) {
		x *= 6364136223846793005u;
		/* one multiplication after the other */
		__asm__ volatile("" : "+r"(x));
	}
	load->sum = x;
}

static const struct load_kind kinds[] = {
	{ .name = "read", .unit = "bytes", .least = LINE, .work = work_read },
	{ .name = "write", .unit = "bytes", .least = LINE, .work = work_write },
	{ .name = "copy", .unit = "bytes", .least = LINE, .work = work_copy },
	{ .name = "chase", .unit = "loads", .least = 1, .begin = begin_chase, .work = work_chase },
	{ .name = "spin", .unit = "rounds", .least = 1, .work = work_spin },
};

static const struct load_kind *find_kind(const char *name)
{
	if (!strcmp(name, load_gpu.name))
		return &load_gpu;
	for (size_t n = 0; n < ARRAY_SIZE(kinds); n++)
		if (!strcmp(name, kinds[n].name))
			return &kinds[n];
	return NULL;
}

/* --- running ------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec until = { .tv_sec = (time_t)(ns / NS_PER_S),
					.tv_nsec = (long)(ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
		;
}

static uint64_t round_up(uint64_t units, uint64_t least)
{
	return units ? (units + least - 1) / least * least : least;
}

/* @amount: 0: for ever; @rate: units a second, 0: as fast as it goes. Return: units done. */
static uint64_t run(const struct load_kind *kind, struct load *load, uint64_t amount, uint64_t rate)
{
	const uint64_t begin_ns = now_ns();
	uint64_t done = 0, chunk = round_up(rate / CHUNKS, kind->least);

	while (!amount || done < amount) {
		const uint64_t started_ns = now_ns();
		uint64_t units = chunk;

		if (amount && amount - done < units)
			units = round_up(amount - done, kind->least);
		kind->work(load, units);
		done += units;
		if (rate)
			sleep_until(begin_ns + (uint64_t)((double)done / (double)rate * NS_PER_S));
		else if (now_ns() - started_ns < FREE_CHUNK_NS / 2)
			chunk *= 2;
	}
	return done;
}

static const char help[] =
	"usage: perfctr-load [OPTION...] KIND\n"
	"\n"
	"Uses one resource of this machine, as a task or an aggressor of perfctr\n"
	"interference. KIND is\n"
	"  read, write, copy    memory, one line after the other; amounts are bytes\n"
	"  chase                memory, in random order, each load waits for the last one\n"
	"  spin                 the CPU: multiplications\n"
	"  gpu                  the GPU, by OpenGL ES: triangles over 1024x1024 pixels\n"
	"\n"
	"  -s, --size BYTES     memory that is used (64Mi), and stays in a cache if it fits\n"
	"  -n, --amount N       end after N bytes, loads, multiplications or triangles\n"
	"  -r, --rate N         at most N of them a second\n"
	"\n"
	"Exit: 0 fine, 1 error, 2 usage.\n";

static int run_load(struct app *app, int argc, char **argv)
{
	uint64_t size = 64 << 20, amount = 0, rate = 0, begin_ns, done;
	const struct option_spec options[] = {
		OPTION('s', "size", NUMBER, &size, .min = 4096, .max = UINT64_C(1) << 40),
		OPTION('n', "amount", NUMBER, &amount, .min = 1, .max = UINT64_C(1) << 60),
		OPTION('r', "rate", NUMBER, &rate, .max = UINT64_C(1) << 50),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_WORDS);
	const struct load_kind *kind;
	struct load load = { 0 };

	if (status)
		return status < 0 ? EXIT_FINE : status;
	if (argc - optind != 1)
		return app_usage(app, "give one KIND");
	kind = find_kind(argv[optind]);
	if (!kind)
		return app_usage(app, "'%s': read, write, copy, chase, spin or gpu", argv[optind]);
	load.size = (size_t)size & ~(size_t)(2 * LINE - 1);
	load.memory =
		mmap(NULL, load.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (load.memory == MAP_FAILED) {
		app_error(app, "%zu bytes of memory: %s", load.size, app_reason(errno));
		return EXIT_FAILED;
	}
	/* pages of their own: unwritten ones are all the same */
	if (kind != &load_gpu)
		memset(load.memory, 1, load.size);
	if (kind->begin && kind->begin(&load)) {
		app_error(app, "%s: %s", kind->name, load.error);
		return EXIT_FAILED;
	}
	begin_ns = now_ns();
	done = run(kind, &load, amount, rate);
	fprintf(app->out, "%s: %" PRIu64 " %s in %.6f s\n", kind->name, done, kind->unit,
		(double)(now_ns() - begin_ns) / 1e9);
	/* what was read decides something */
	return load.sum == 1 && !load.size ? EXIT_FAILED : EXIT_FINE;
}

int main(int argc, char **argv)
{
	struct app app = { .program = "perfctr-load" };

	return app_main(&app, run_load, argc, argv);
}
