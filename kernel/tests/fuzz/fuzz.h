/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Shared by the files of the ioctl fuzzer. An operation depends on its seed and on the state of its
 * process, so a seed repeats a run. A record is a list of seeds, from which lines can be removed.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <linux/types.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <drm/perfctr_drm.h>
#include <drm/perfctr_mali.h>
#include <drm/perfctr_nv50.h>
#include <drm/perfctr_tegra410.h>
#include <drm/vsoc_drm.h>

#include "../query_nr.h"

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#endif
#define fallthrough	__attribute__((__fallthrough__))

struct rng {
	__u64 x;
};

/* splitmix64: any seed is a good one */
static inline __u64 rnd(struct rng *r)
{
	__u64 z = r->x += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

static inline unsigned int below(struct rng *r, unsigned int n)
{
	return rnd(r) % n;
}

static inline bool percent(struct rng *r, unsigned int p)
{
	return below(r, 100) < p;
}

/* a boundary value */
__u64 wild(struct rng *r);
/* makes up to three fields of a structure invalid */
void mutate(struct rng *r, void *data, size_t bytes);

#define MAX_FDS		8
#define MAX_BOS		16
#define MAX_SESSIONS	24
#define MAX_EVENTFDS	4
#define MAX_CONTEXTS	4
#define MAX_JOBS	8
#define MAX_CONTROLS	16

/* memory of the virtual SoC, for stores of MP counters, and rings of PERF_CONTROL */
struct bo {
	int fd;			/* slot of the file that owns it */
	__u32 handle;
	__u64 offset;		/* to map it, or 0 */
};

/* a session of PERF_CONTROL */
struct control_session {
	int fd;			/* slot of the file that owns it */
	__u32 number;
};

struct session {
	int fd;			/* its descriptor, or -1 */
	int reader;		/* from READER, or -1 */
	/*
	 * Address of the control area and the slots behind it; its low bits hold the number of
	 * pages. One word, so that threads do not mix two mappings.
	 */
	uintptr_t map;
	struct drm_perfctr_layout layout;
	__u32 extract;
};

/* Two threads of a process use one world without a lock: races are input, too. */
struct world {
	int fds[MAX_FDS];
	struct bo bos[MAX_BOS];
	struct session sessions[MAX_SESSIONS];
	struct control_session controls[MAX_CONTROLS];
	int eventfds[MAX_EVENTFDS];
	__u32 contexts[MAX_CONTEXTS];
	__u64 jobs[MAX_JOBS];
	/*
	 * Stray accesses end here: of pointers with up to four changed bytes, of writes of the
	 * kernel with a wrong size, and after the other thread unmapped. They would crash the
	 * process elsewhere.
	 */
	char *field;
	/* pages in it: writable, none, read-only, none */
	char *arena;
	/* the place of the next mapping in it */
	unsigned int next_map;
	struct {
		__u16 block;
		__u32 type;
	} pmus[16];
	unsigned int pmu_count;
};

#define PAGE_BYTES	4096ul
#define ARENA_PAGES	16
/* largest ring that is mapped */
#define MAX_MAP_BYTES	((PAGE_BYTES - 1) * PAGE_BYTES)
#define FIELD_BYTES	0x100000000ul
#define FIELD_ARENA	0x80000000ul
#define FIELD_FIRST_MAP	0x10000000ul
#define FIELD_MAPS	64
#define RENDER_MINORS	64
#define FIRST_RENDER_MINOR 128
#define ARENA_RW	(ARENA_PAGES * PAGE_BYTES)

struct op {
	const char *name;
	unsigned int weight;
	void (*run)(struct world *w, struct rng *r);
};

/* operations of any process, and those of root on sysfs and debugfs */
extern const struct op user_ops[], root_ops[];

/* counts of one run, shared by all processes */
struct tally {
	__u64 ops, ok, failed, faults;
	/* sessions that were created on a GPU with PCOUNTER */
	__u64 nv50_sessions;
	/* by operation and errno, 0: success */
	__u32 results[64][134];
};

extern struct tally *tally;
extern bool fuzz_verbose;
/* where a thread continues after an access to unmapped memory */
extern __thread sigjmp_buf *fuzz_recover;
/* number of the operation in its table */
extern __thread unsigned int fuzz_op;
/* an ioctl failed because its file is closed or its device gone */
extern __thread bool fuzz_gone;

/* mostly of an open file or an existing session; a slot or file may be -1 */
int any_slot(struct world *w, struct rng *r);
int any_fd(struct world *w, struct rng *r);
struct session *any_session(struct world *w, struct rng *r);
struct bo *any_bo(struct world *w, struct rng *r);
/* where a session's ring is mapped, or NULL */
char *map_of(const struct session *s, __u64 *bytes);
/* another mapping, or none: 0 */
void set_map(struct session *s, uintptr_t map);
/* map control area and slots of a descriptor of the session, as a reader does */
void map_ring(struct world *w, struct session *s, int fd);
/* copy a structure to a place that the kernel can mostly read */
void *place(struct world *w, struct rng *r, const void *data, size_t bytes);

/* fuzz_jobs.c */
void op_submit(struct world *w, struct rng *r);
void op_wait(struct world *w, struct rng *r);
void op_context(struct world *w, struct rng *r);
void op_info(struct world *w, struct rng *r);

/* fuzz_rings.c */
void op_scribble_control(struct world *w, struct rng *r);
void op_remap(struct world *w, struct rng *r);
void op_reader(struct world *w, struct rng *r);
void op_close_ring(struct world *w, struct rng *r);
void op_poll(struct world *w, struct rng *r);
void op_drain(struct world *w, struct rng *r);
void op_eventfd(struct world *w, struct rng *r);

/* fuzz_control.c */
void op_control_setup(struct world *w, struct rng *r);
void op_control(struct world *w, struct rng *r);
void op_control_scribble(struct world *w, struct rng *r);

void world_init(struct world *w);
/* close and unmap everything */
void world_fini(struct world *w);
void run_op(struct world *w, const struct op *ops, __u64 seed);
/* ioctl() with its result in the tally: what it returns, or -errno */
int call(int fd, unsigned long request, void *arg);
/* the n-th of our render nodes, or -1 */
int open_node(unsigned int n);
int open_any_node(void);
/* whether the file is of one of our drivers */
bool is_ours(int fd);

/* devices for all processes, one of them with PCOUNTER; false: it could not be created */
bool root_init(void);
/* restore all settings */
void root_restore(void);
int write_text(const char *path, const char *text);

struct kernel_state {
	unsigned long taint;
	int kmsg;
	/* references of the core's module: each ring has one */
	unsigned long rings;
	/* a GPU with PCOUNTER exists all the time */
	bool has_nv50;
};

void kernel_before(struct kernel_state *k);
/* prints TAP, returns the number of failures */
int kernel_after(struct kernel_state *k, double seconds);

#endif /* FUZZ_H */
