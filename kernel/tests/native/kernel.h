/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Replaces the linux/ headers, so that kernel code builds as an ordinary program. The Makefile
 * generates headers with their names that include this one.
 *
 * One thread, no interrupts: locks only check that they are balanced. Time passes only in
 * native_sleep_ns(), which waits call and in which the test acts as the hardware.
 */
#ifndef NATIVE_KERNEL_H
#define NATIVE_KERNEL_H

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* the library's sessions build the core's pure files, too */
#include "../../../libperfctr/src/host/kernel.h"

/* --- types --------------------------------------------------------------- */

typedef __s16 s16;
typedef unsigned int gfp_t;

#define U16_MAX		UINT16_MAX
#define U32_MAX		UINT32_MAX
#define GFP_KERNEL	0u

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the tests need a little-endian machine"
#endif
/* the C library defines it on every machine, the kernel on big-endian ones only */
#undef __BIG_ENDIAN
#define cpu_to_le16(x)	((__le16)(x))
#define le16_to_cpu(x)	((u16)(x))
#define cpu_to_le32(x)	((__le32)(x))
#define le32_to_cpu(x)	((u32)(x))
#define le64_to_cpu(x)	((u64)(x))

/* --- compiler ------------------------------------------------------------ */

/* ThreadSanitizer does not know fences; the checked code uses acquire and release */
#define native_barrier()	__asm__ __volatile__("" ::: "memory")
#undef mb
#undef wmb
#define mb()			native_barrier()
#define rmb()			native_barrier()
#define wmb()			native_barrier()
#define container_of(ptr, type, member) \
	((type *)((char *)(ptr) - offsetof(type, member)))
#define __aligned(n)		__attribute__((aligned(n)))
#define fallthrough		__attribute__((fallthrough))
#define IS_ALIGNED(x, a)	(((x) & ((__typeof__(x))(a) - 1)) == 0)
#define ALIGN(x, a)		(((x) + (a) - 1) & ~((__typeof__(x))(a) - 1))
#define scnprintf		snprintf

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#endif

/* --- bits ---------------------------------------------------------------- */

#define BIT(n)			(1ul << (n))
#define GENMASK_ULL(h, l)	((~0ull << (l)) & (~0ull >> (63 - (h))))
#define FIELD_GET(mask, reg)	(((reg) & (mask)) >> __builtin_ctzl(mask))
#define FIELD_PREP(mask, val)	(((__typeof__(mask))(val) << __builtin_ctzl(mask)) & (mask))
#define for_each_set_bit(bit, word, size)					\
	for ((bit) = 0; (bit) < (size); (bit)++)				\
		if (*(word) >> (bit) & 1)
#define hweight32(x)		((unsigned int)__builtin_popcount(x))

static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline bool is_power_of_2(unsigned long n)
{
	return n && !(n & (n - 1));
}

/* --- arithmetic ---------------------------------------------------------- */

#define min_t(t, a, b)		min((t)(a), (t)(b))
#define max_t(t, a, b)		max((t)(a), (t)(b))
#define clamp(v, lo, hi)	min(max(v, lo), hi)

static inline u64 div64_u64(u64 a, u64 b)
{
	return a / b;
}

static inline u64 div64_u64_rem(u64 a, u64 b, u64 *rest)
{
	*rest = a % b;
	return a / b;
}

#define max3(a, b, c)		max(max(a, b), c)
#define swap(a, b)		({ __typeof__(a) _s = (a); (a) = (b); (b) = _s; })
#define DIV64_U64_ROUND_UP(a, b)	(((a) + (b) - 1) / (b))

static inline u64 div_u64(u64 a, u32 b)
{
	return a / b;
}

static inline s64 div_s64(s64 a, s32 b)
{
	return a / b;
}

static inline u64 div_u64_rem(u64 a, u32 b, u32 *rest)
{
	*rest = a % b;
	return a / b;
}

/* a 32-bit compiler has no such type, and builds nothing that needs them */
#ifdef __SIZEOF_INT128__
static inline u64 mul_u64_u64_div_u64(u64 a, u64 b, u64 c)
{
	return (__uint128_t)a * b / c;
}

static inline u64 mul_u64_u32_div(u64 a, u32 mul, u32 div)
{
	return (u64)((__uint128_t)a * mul / div);
}
#endif

/* --- time and waiting ---------------------------------------------------- */

#define NSEC_PER_SEC	1000000000ull
#define NSEC_PER_MSEC	1000000ull

typedef s64 ktime_t;

extern u64 native_now_ns;
/* called after each step of time */
extern void (*native_while_waiting)(void);
void native_sleep_ns(u64 ns);

static inline u64 ktime_get_raw_ns(void)
{
	return native_now_ns;
}

static inline ktime_t ktime_get_raw(void)
{
	return (ktime_t)native_now_ns;
}

static inline s64 ktime_to_ms(ktime_t t)
{
	return t / (s64)NSEC_PER_MSEC;
}

/* a jiffy is a millisecond */
static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return ms;
}

typedef struct {
	unsigned int wakes;
} wait_queue_head_t;

static inline void init_waitqueue_head(wait_queue_head_t *wq)
{
	wq->wakes = 0;
}

static inline bool wq_has_sleeper(wait_queue_head_t *wq)
{
	return true;
}

static inline void wake_up(wait_queue_head_t *wq)
{
	wq->wakes++;
}

/* the condition is checked at each wake-up and at the timeout */
#define wait_event_timeout(wq, condition, timeout)				\
({										\
	long _left = (timeout);							\
	bool _done = (condition);						\
	while (!_done && _left) {						\
		unsigned int _wakes = (wq).wakes;				\
										\
		native_sleep_ns(NSEC_PER_MSEC);					\
		_left--;							\
		if ((wq).wakes != _wakes || !_left)				\
			_done = (condition);					\
	}									\
	_done ? (_left ? _left : 1) : 0;					\
})

/* --- locks --------------------------------------------------------------- */

typedef struct spinlock {
	bool held;
} spinlock_t;

static inline void spin_lock_init(spinlock_t *lock)
{
	lock->held = false;
}

static inline void native_spin_lock(spinlock_t *lock)
{
	assert(!lock->held);
	lock->held = true;
}

static inline void native_spin_unlock(spinlock_t *lock)
{
	assert(lock->held);
	lock->held = false;
}

struct mutex {
	struct spinlock lock;
};

#define DEFINE_MUTEX(name)	struct mutex name
#define mutex_lock(m)		native_spin_lock(&(m)->lock)
#define mutex_unlock(m)		native_spin_unlock(&(m)->lock)
#define spin_lock_irqsave(lock, flags)	((flags) = 0, native_spin_lock(lock))
#define spin_unlock_irqrestore(lock, flags)	((void)(flags), native_spin_unlock(lock))

/* --- lists ---------------------------------------------------------------- */

struct list_head {
	struct list_head *next, *prev;
};

#define LIST_HEAD(name)		struct list_head name = { &(name), &(name) }

static inline void list_add_tail(struct list_head *node, struct list_head *list)
{
	node->prev = list->prev;
	node->next = list;
	list->prev->next = node;
	list->prev = node;
}

static inline void list_del(struct list_head *node)
{
	node->prev->next = node->next;
	node->next->prev = node->prev;
}

#define list_for_each_entry(at, list, member)					\
	for ((at) = container_of((list)->next, __typeof__(*(at)), member);	\
	     &(at)->member != (list);						\
	     (at) = container_of((at)->member.next, __typeof__(*(at)), member))
#define list_for_each_entry_safe(at, after, list, member)			\
	for ((at) = container_of((list)->next, __typeof__(*(at)), member),	\
	     (after) = container_of((at)->member.next, __typeof__(*(at)), member); \
	     &(at)->member != (list); (at) = (after),				\
	     (after) = container_of((at)->member.next, __typeof__(*(at)), member))

/* --- modules, errors, drm ------------------------------------------------ */

#define EXPORT_SYMBOL_GPL(symbol)	extern int native_exported
#define MODULE_DESCRIPTION(text)	extern int native_module
#define MODULE_LICENSE(text)		extern int native_module
#define __init
#define __exit
/* a program has at most one module */
#define module_init(function)		int native_init(void) { return function(); }
#define module_exit(function)		void native_exit(void) { function(); }
#define THIS_MODULE			NULL
#define try_module_get(module)		((void)(module), true)
int native_init(void);
void native_exit(void);

#define MAX_ERRNO	4095
#define IS_ERR(p)	((unsigned long)(p) >= (unsigned long)-MAX_ERRNO)
#define PTR_ERR(p)	((long)(p))
#define ERR_PTR(e)	((void *)(long)(e))

struct drm_device;

extern unsigned int native_drm_errors;
extern bool native_verbose;

#define drm_dbg(drm, ...) \
	((void)(drm), native_verbose ? (void)printf("# " __VA_ARGS__) : (void)0)
#define drm_err(drm, ...)	(native_drm_errors++, drm_dbg(drm, __VA_ARGS__))

/* freed by native_free_managed() */
struct drm_device;
typedef void (*native_action_t)(struct drm_device *drm, void *data);
void *native_managed(size_t n, size_t size);
int native_add_action(native_action_t action, void *data);
void native_free_managed(void);
/* the n-th allocation from now on fails, 0: none */
extern unsigned int native_fail_alloc;

struct seq_file;
#define seq_printf(m, ...)	((void)(m), printf("# " __VA_ARGS__))

#define kzalloc(size, gfp)		((void)(gfp), calloc(1, size))
#define kfree(memory)			free(memory)
#define drmm_kzalloc(drm, size, gfp)	((void)(gfp), native_managed(1, size))
#define drmm_kcalloc(drm, n, size, gfp)	((void)(gfp), native_managed(n, size))

#define drmm_add_action_or_reset(drm, action, data) native_add_action(action, data)

/* members of structures that no test uses */
#define DECLARE_HASHTABLE(name, bits)	void *name
struct hlist_node { void *next; };
struct hrtimer { int unused; };
struct irq_work { int unused; };
typedef struct { int unused; } call_single_data_t;
typedef int (*irq_handler_t)(int number, void *data);
typedef spinlock_t raw_spinlock_t;

#endif /* NATIVE_KERNEL_H */
