// SPDX-License-Identifier: MIT
/*
 * A program under ptrace. Breakpoints at the beginning and the end of a function or region switch
 * an event on and off, or the function is executed in single steps, which need no PMU.
 */
#include "program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "build.h"
#include "lib/command.h"

/* registers of NT_PRSTATUS, as words; LINK 0: the return address is on the stack */
#if defined(__x86_64__)
enum { PC = 16, STACK = 19, LINK = 0, AFTER_BREAKPOINT = 1 };
static const uint8_t breakpoint[] = { 0xcc };
#elif defined(__aarch64__)
enum { PC = 32, STACK = 31, LINK = 30, AFTER_BREAKPOINT = 0 };
static const uint8_t breakpoint[] = { 0x00, 0x00, 0x20, 0xd4 };
#elif defined(__riscv) && __riscv_xlen == 64
enum { PC = 0, STACK = 2, LINK = 1, AFTER_BREAKPOINT = 0 };
static const uint8_t breakpoint[] = { 0x73, 0x00, 0x10, 0x00 };
#else
enum { PC = 0, STACK = 0, LINK = 0, AFTER_BREAKPOINT = 0 };
static const uint8_t breakpoint[] = { 0 };
#endif

enum { REGISTERS = 64 };

/* a place where the program stops */
struct spot {
	uint64_t address;
	uint64_t saved; /* what was there */
	bool is_set;
};

struct run {
	const struct program *p;
	struct program_count *count;
	pid_t pid;
	bool is_loaded;
	int fd; /* of the event; -1: steps */
	uint64_t base; /* what is added to addresses as linked */
	struct spot begin, end;
	bool inside; /* between @begin and @end */
	bool counts; /* the present call is counted */
	int64_t calls;
};

static int refuse(const struct run *r, const char *text)
{
	fail(r->p->failure, "%s: %s: %s", r->p->point, r->p->argv[0], text);
	return -EINVAL;
}

static int refuse_errno(const struct run *r, const char *text)
{
	return refuse(r, arena_printf(r->p->arena, "%s: %s", text, strerror(errno)));
}

/* --- memory and registers ------------------------------------------------------------- */

static int read_memory(const struct run *r, uint64_t address, void *to, size_t bytes)
{
	const struct iovec local = { to, bytes };
	const struct iovec remote = { (void *)(uintptr_t)address, bytes };

	return process_vm_readv(r->pid, &local, 1, &remote, 1, 0) == (ssize_t)bytes ?
		       0 :
		       refuse_errno(r, "reading its memory");
}

static int write_word(const struct run *r, pid_t pid, uint64_t address, uint64_t word)
{
	return ptrace(PTRACE_POKETEXT, pid, (void *)(uintptr_t)address, (void *)(uintptr_t)word) ?
		       refuse_errno(r, "setting a breakpoint") :
		       0;
}

static int set(const struct run *r, struct spot *spot)
{
	uint64_t word;
	size_t bytes = sizeof(breakpoint);

	if (read_memory(r, spot->address, &spot->saved, sizeof(spot->saved)) < 0)
		return -EINVAL;
	word = spot->saved;
#if defined(__riscv)
	/* c.ebreak in the place of a short instruction */
	if ((word & 3) != 3) {
		memcpy(&word, &(uint16_t){ 0x9002 }, 2);
		bytes = 0;
	}
#endif
	memcpy(&word, breakpoint, bytes);
	spot->is_set = true;
	return write_word(r, r->pid, spot->address, word);
}

static int clear(const struct run *r, const struct spot *spot, pid_t pid)
{
	return spot->is_set ? write_word(r, pid, spot->address, spot->saved) : 0;
}

static int get_registers(const struct run *r, uint64_t *registers, size_t *bytes)
{
	struct iovec all = { registers, REGISTERS * sizeof(*registers) };

	if (ptrace(PTRACE_GETREGSET, r->pid, (void *)NT_PRSTATUS, &all))
		return refuse_errno(r, "reading its registers");
	*bytes = all.iov_len;
	return 0;
}

static int set_registers(const struct run *r, uint64_t *registers, size_t bytes)
{
	struct iovec all = { registers, bytes };

	return ptrace(PTRACE_SETREGSET, r->pid, (void *)NT_PRSTATUS, &all) ?
		       refuse_errno(r, "writing its registers") :
		       0;
}

/* --- a program begins --------------------------------------------------------------------- */

/* Where the kernel put the program: its entry there, less its entry as linked. */
static int find_base(struct run *r)
{
	struct arena *arena = r->p->arena;
	struct failure ignored = { "" };
	size_t length = 0, bytes;
	const char *vector = read_file(arena, arena_printf(arena, "/proc/%d/auxv", (int)r->pid),
				       &length, &ignored);
	uint64_t entry = 0;
	Elf64_Ehdr header;
	int fd = open(arena_printf(arena, "/proc/%d/exe", (int)r->pid), O_RDONLY | O_CLOEXEC);

	bytes = fd < 0 ? 0 : (size_t)read(fd, &header, sizeof(header));
	if (fd >= 0)
		close(fd);
	for (size_t at = 0; vector && at + sizeof(Elf64_auxv_t) <= length;
	     at += sizeof(Elf64_auxv_t)) {
		Elf64_auxv_t one;

		memcpy(&one, vector + at, sizeof(one));
		entry = one.a_type == AT_ENTRY ? one.a_un.a_val : entry;
	}
	if (!entry || bytes != sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(r, "it is no ELF program of 64 bits");
	r->base = entry - header.e_entry;
	return 0;
}

/* The listing is of this program: all bytes of the function are those that it has. */
static int compare_code(const struct run *r)
{
	const struct code *code = r->p->code;
	uint8_t *there = arena_array(r->p->arena, code->length, 1);
	size_t at = 0;

	if (read_memory(r, code->addresses[0] + r->base, there, code->length) < 0)
		return refuse(r, "the listing has addresses that it does not have");
	if (!memcmp(there, code->bytes, code->length))
		return 0;
	while (there[at] == code->bytes[at])
		at++;
	return refuse(r, arena_printf(r->p->arena,
				      "it is not the program of the listing, which has another "
				      "byte at 0x%" PRIx64 "; disassemble it again",
				      code->addresses[0] + at));
}

static int open_event(struct run *r)
{
	struct perf_event_attr attr;

	if (r->p->cpu_fd >= 0 || !r->p->attr) {
		r->fd = r->p->cpu_fd;
		return 0;
	}
	attr = *r->p->attr;
	r->fd = (int)syscall(SYS_perf_event_open, &attr, r->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return r->fd < 0 ? -errno : 0;
}

/* --- a call --------------------------------------------------------------------------------- */

/* x86: a string instruction that is repeated stops after each round of it */
static bool is_repeated(const uint8_t *bytes)
{
#if defined(__x86_64__)
	bool repeats = false;

	while (strchr("\x66\x67\xf2\xf3", *bytes) || (*bytes & 0xf0) == 0x40)
		repeats |= (*bytes++ & 0xfe) == 0xf2;
	return repeats && ((*bytes >= 0xa4 && *bytes <= 0xaf && *bytes != 0xa8 && *bytes != 0xa9) ||
			   (*bytes >= 0x6c && *bytes <= 0x6f));
#else
	(void)bytes;
	return false;
#endif
}

/* The number of the instruction at an address; -1: it is none of the function. */
static long find(const struct code *code, uint64_t address, size_t guess)
{
	size_t low = 0, high = code->count;

	if (guess < code->count && code->addresses[guess] == address)
		return (long)guess;
	while (low < high) {
		const size_t middle = (low + high) / 2;

		if (code->addresses[middle] == address)
			return (long)middle;
		if (code->addresses[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

/* One instruction. Return: 0; a negative errno. */
static int step(const struct run *r, uint64_t *pc)
{
	uint64_t registers[REGISTERS];
	size_t bytes;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, r->pid, 0, 0))
		return errno == EIO || errno == EOPNOTSUPP ? -ENOTSUP :
							     refuse_errno(r, "a single step");
	if (waitpid(r->pid, &status, __WALL) < 0)
		return refuse_errno(r, "waiting for it");
	if (!WIFSTOPPED(status))
		return refuse(r, "it ended in the function");
	if (WSTOPSIG(status) != SIGTRAP || status >> 16)
		return refuse(r, arena_printf(r->p->arena,
					      "signal %d came while it was counted: its handler "
					      "would be counted as well",
					      WSTOPSIG(status)));
	if (get_registers(r, registers, &bytes) < 0)
		return -EINVAL;
	*pc = registers[PC];
	return 0;
}

/* The whole call in single steps. */
static int count_steps(struct run *r)
{
	const struct code *code = r->p->code;
	const uint64_t start = code->addresses[0];
	uint64_t pc = start + r->base;
	size_t at = 0;

	while (pc != r->end.address) {
		const uint64_t before = pc;
		const uint64_t next = at + 1 < code->count ? code->addresses[at + 1] :
							     start + code->length;
		const int error = step(r, &pc);
		long found;

		if (error)
			return error;
		if (pc == before && is_repeated(code->bytes + (before - r->base - start)))
			continue;
		r->count->counted.value++;
		r->count->jumps += pc - r->base != next;
		found = find(code, pc - r->base, at + 1);
		if (found < 0 && pc != r->end.address)
			return refuse(r, arena_printf(r->p->arena,
						      "0x%" PRIx64 " goes to 0x%" PRIx64
						      ", which is not in the listing",
						      before - r->base, pc - r->base));
		at = found < 0 ? at : (size_t)found;
	}
	return 0;
}

/* The program is at the beginning of the function. */
static int enter(struct run *r, const uint64_t *registers)
{
	int error = clear(r, &r->begin, r->pid);

	r->begin.is_set = false;
	r->calls++;
	r->counts = !r->p->call || r->calls == r->p->call;
	r->inside = true;
	r->end = (struct spot){ .address = r->p->code->end + r->base };
	if (!error && !r->p->code->end && LINK)
		r->end.address = registers[LINK];
	else if (!error && !r->p->code->end)
		error = read_memory(r, registers[STACK], &r->end.address, sizeof(r->end.address));
	if (!error && r->counts && !r->p->attr && r->p->cpu_fd < 0)
		error = count_steps(r);
	if (!error)
		error = set(r, &r->end);
	if (!error && r->counts && r->fd >= 0 && ioctl(r->fd, PERF_EVENT_IOC_ENABLE, 0))
		error = refuse_errno(r, "counting");
	return error;
}

/* It has left it. */
static int leave(struct run *r)
{
	int error = 0;

	if (r->counts && r->fd >= 0 && ioctl(r->fd, PERF_EVENT_IOC_DISABLE, 0))
		error = refuse_errno(r, "counting");
	r->inside = r->counts = false;
	if (!error)
		error = clear(r, &r->end, r->pid);
	r->end.is_set = false;
	return error ? error : set(r, &r->begin);
}

/* A breakpoint of ours? Return: 1; 0: another trap; a negative errno. */
static int at_spot(struct run *r)
{
	uint64_t registers[REGISTERS], pc;
	size_t bytes = 0;
	int error = get_registers(r, registers, &bytes);

	if (error)
		return error;
	pc = registers[PC] - AFTER_BREAKPOINT;
	if (!(r->begin.is_set && pc == r->begin.address) &&
	    !(r->end.is_set && pc == r->end.address))
		return 0;
	registers[PC] = pc;
	error = AFTER_BREAKPOINT ? set_registers(r, registers, bytes) : 0;
	if (!error)
		error = r->inside ? leave(r) : enter(r, registers);
	return error ? error : 1;
}

/* --- the program runs ------------------------------------------------------------------------ */

/* A new process: it is not counted, and goes on without breakpoints. */
static int release(struct run *r, bool shares)
{
	unsigned long child;
	int status;

	if (ptrace(PTRACE_GETEVENTMSG, r->pid, 0, &child) ||
	    waitpid((pid_t)child, &status, __WALL) < 0)
		return refuse_errno(r, "its child");
	/* a child of vfork() has its parent's memory until it executes another program */
	if (!shares && WIFSTOPPED(status) &&
	    (clear(r, &r->begin, (pid_t)child) || clear(r, &r->end, (pid_t)child)))
		return -EINVAL;
	ptrace(PTRACE_DETACH, (pid_t)child, 0, 0);
	return 0;
}

static int load(struct run *r)
{
	int error;

	if (r->is_loaded)
		return refuse(r, "it executes another program");
	r->is_loaded = true;
	r->count->build =
		build_id_of(r->p->arena, arena_printf(r->p->arena, "/proc/%d/exe", (int)r->pid));
	error = find_base(r);
	if (!error)
		error = compare_code(r);
	if (!error)
		error = open_event(r);
	r->begin.address = r->p->code->addresses[0] + r->base;
	return error ? error : set(r, &r->begin);
}

/* What a stop is about. @number: set to the signal that the program gets. */
static int take_stop(struct run *r, int status, int *number)
{
	const int event = status >> 16;
	int found;

	*number = 0;
	switch (event) {
	case PTRACE_EVENT_EXEC:
		return load(r);
	case PTRACE_EVENT_CLONE:
		return refuse(r, "it starts a thread; only programs of one thread are counted by "
				 "functions");
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		return release(r, event == PTRACE_EVENT_VFORK);
	case PTRACE_EVENT_STOP:
		return 0;
	}
	found = WSTOPSIG(status) == SIGTRAP ? at_spot(r) : 0;
	if (found)
		return found < 0 ? found : 0;
	*number = WSTOPSIG(status);
	if (r->counts)
		return refuse(r, arena_printf(r->p->arena,
					      "signal %d came while it was counted: its handler "
					      "would be counted as well",
					      *number));
	return 0;
}

/* How it ended, and how often the function was called. */
static int check_end(const struct run *r, int status)
{
	struct arena *arena = r->p->arena;

	if (WIFSIGNALED(status))
		return refuse(r,
			      arena_printf(arena, "it was killed by signal %d", WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return refuse(r,
			      arena_printf(arena, "it ended with status %d", WEXITSTATUS(status)));
	if (r->inside)
		return refuse(r, "it ended in the function");
	if (r->p->call && r->calls < r->p->call)
		return refuse(r, arena_printf(arena,
					      "the function was called %" PRId64 " times, call "
					      "%" PRId64 " is to be counted",
					      r->calls, r->p->call));
	if (!r->p->call && r->calls != r->p->calls)
		return refuse(r, arena_printf(arena,
					      "the function was called %" PRId64 " times, the "
					      "benchmark says %" PRId64
					      " (\"kernels\"), or give the one to count "
					      "(\"call\")",
					      r->calls, r->p->calls));
	return 0;
}

static int follow(struct run *r)
{
	int status, error, number;

	for (;;) {
		if (waitpid(r->pid, &status, __WALL) < 0)
			return refuse_errno(r, "waiting for it");
		if (!WIFSTOPPED(status)) {
			r->pid = -1;
			return check_end(r, status);
		}
		error = take_stop(r, status, &number);
		if (!error && ptrace(PTRACE_CONT, r->pid, 0, (void *)(uintptr_t)number))
			error = refuse_errno(r, "ptrace");
		if (error)
			return error;
	}
}

/* Kill it. It has ended only if its threads, which are traced as well, have been waited for. */
static void end(pid_t pid)
{
	pid_t ended;

	kill(pid, SIGKILL);
	do
		ended = waitpid(-1, NULL, __WALL);
	while (ended != pid && (ended > 0 || errno == EINTR));
}

int program_count(const struct program *p, struct program_count *count)
{
	const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC | PTRACE_O_TRACECLONE |
			     PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
	struct run r = { .p = p, .count = count, .fd = -1 };
	const int output = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct child child;
	int error = output < 0 ? -errno : child_prepare(&child, p->argv, output);

	*count = (struct program_count){ 0 };
	if (output >= 0)
		close(output);
	if (error) {
		errno = -error;
		return refuse_errno(&r, "starting it");
	}
	r.pid = child.pid;
	if (ptrace(PTRACE_SEIZE, child.pid, 0, options)) {
		error = refuse_errno(&r, "ptrace");
		child_abandon(&child);
		return error;
	}
	error = child_go(&child);
	if (error) {
		errno = -error;
		return refuse_errno(&r, "starting it");
	}
	error = follow(&r);
	if (!error && r.fd >= 0 &&
	    read(r.fd, &count->counted, sizeof(count->counted)) != sizeof(count->counted))
		error = refuse_errno(&r, "reading the event");
	if (r.fd >= 0 && r.fd != p->cpu_fd)
		close(r.fd);
	if (r.pid > 0)
		end(r.pid);
	return error;
}
