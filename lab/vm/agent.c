// SPDX-License-Identifier: MIT
/*
 * PID 1 of the guests that lab/vm/run boots. It connects to the host over one character device,
 * executes the host's directives (mounts, modules, environment), runs one command and relays its
 * terminal or pipes, the kernel log and the exit status.
 *
 * Both directions carry frames: one byte type, 32-bit little-endian length, payload. The types are
 * listed at enum frame_type; the peer is lab/vm/run.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum frame_type {
	/* host to guest */
	FRAME_DIRECTIVE = 'C', /* NUL-separated words, see directives[] */
	FRAME_STDIN = 'I', /* empty: end of file */
	FRAME_WINDOW = 'W', /* u16 rows, u16 columns */
	FRAME_SIGNAL = 'S', /* u8 signal number for the command */
	/* guest to host */
	FRAME_HELLO = 'H',
	FRAME_RUNNING = 'R', /* command started */
	FRAME_STDOUT = 'O',
	FRAME_STDERR = 'E',
	FRAME_KMSG = 'K', /* whole /dev/kmsg records */
	/* the command has read the last FRAME_STDIN: the host may send the next */
	FRAME_TAKEN = 'T',
	FRAME_EXIT = 'X', /* u32 exit status as a shell reports it, u32 taint mask */
	FRAME_FAILED = 'F', /* text: why the guest could not be set up */
};

#define FRAME_HEADER_BYTES 5
#define FRAME_MAX_BYTES (64 * 1024)
#define PORT_WAIT_MS 20000
#define KMSG_RECORD_BYTES 8192
#define WORDS_MAX 8
/* kmemleak reports only objects older than 5 s */
#define LEAK_AGE_S 6
#define ROOT_9P_OPTIONS "trans=virtio,version=9p2000.L,msize=512000,cache=loose"

static int port = -1;
static int kmsg = -1;

/* Mount point of the host's tree, and the directory in which the command's tree is built. */
static const char *lower_dir;
static const char *root_dir;

static struct {
	char **argv;
	size_t argc;
	const char *cwd;
	bool tty;
	struct winsize window;
} command;

static void write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EAGAIN) {
			poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, 100);
			continue;
		}
		if (n < 0 && errno != EINTR)
			return;
		if (n > 0) {
			p += n;
			len -= n;
		}
	}
}

static void send_frame(enum frame_type type, const void *data, uint32_t len)
{
	uint8_t header[FRAME_HEADER_BYTES] = { type, len, len >> 8, len >> 16, len >> 24 };

	/* one write if possible: each write exits to the host */
	if (len <= 4096) {
		uint8_t frame[FRAME_HEADER_BYTES + 4096];

		memcpy(frame, header, sizeof(header));
		if (len)
			memcpy(frame + sizeof(header), data, len);
		write_all(port, frame, sizeof(header) + len);
		return;
	}
	write_all(port, header, sizeof(header));
	write_all(port, data, len);
}

static void relay_kmsg(void)
{
	static char batch[4 * KMSG_RECORD_BYTES];
	size_t used = 0;

	for (;;) {
		ssize_t n = read(kmsg, batch + used, KMSG_RECORD_BYTES);

		if (n < 0 && errno == EPIPE)
			continue; /* the kernel overwrote records before they were read */
		if (n > 0)
			used += n;
		if (used && (n <= 0 || used > sizeof(batch) - KMSG_RECORD_BYTES)) {
			send_frame(FRAME_KMSG, batch, used);
			used = 0;
		}
		if (n <= 0)
			return;
	}
}

static void __attribute__((noreturn)) power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	char text[1024];
	int saved_errno = errno;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof(text) - 128, format, ap);
	va_end(ap);
	if (saved_errno)
		n += snprintf(text + n, sizeof(text) - n, ": %s", strerror(saved_errno));
	if (port >= 0) {
		if (kmsg >= 0)
			relay_kmsg();
		send_frame(FRAME_FAILED, text, n);
	} else {
		fprintf(stderr, "agent: %s\n", text);
	}
	power_off();
}

static void make_dirs(const char *path)
{
	char buf[4096];
	char *p;

	snprintf(buf, sizeof(buf), "%s", path);
	for (p = buf + 1; *p; p++) {
		if (*p != '/')
			continue;
		*p = 0;
		mkdir(buf, 0755);
		*p = '/';
	}
	mkdir(buf, 0755);
}

static void mount_or_fail(const char *source, const char *target, const char *type,
			  unsigned long flags, const char *options)
{
	if (mount(source, target, type, flags, options))
		fail("mount %s on %s", type ? type : source, target);
}

/* Some kernels lack this file system. */
static void mount_if_there(const char *source, const char *target, const char *type,
			   const char *options)
{
	mount(source, target, type, 0, options);
}

static char *path_in(const char *root, const char *path)
{
	char *full;

	if (asprintf(&full, "%s%s", root, path) < 0)
		fail("out of memory");
	return full;
}

static void insert_module(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail("open module %s", path);
	if (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST)
		fail("load module %s%s%s", path, *parameters ? " " : "", parameters);
	close(fd);
}

static void insert_boot_modules(void)
{
	glob_t found;

	if (glob("/modules/*.ko", 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		insert_module(found.gl_pathv[i], "");
	globfree(&found);
}

static void open_port(void)
{
	const char *path = getenv("perfctr_port");
	struct termios raw;
	int waited_ms;

	if (!path) {
		errno = 0;
		fail("perfctr_port= is missing on the kernel command line");
	}
	for (waited_ms = 0; waited_ms < PORT_WAIT_MS; waited_ms += 5) {
		port = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
		if (port >= 0)
			break;
		usleep(5000);
	}
	if (port < 0)
		fail("open %s", path);
	if (!tcgetattr(port, &raw)) {
		cfmakeraw(&raw);
		tcsetattr(port, TCSANOW, &raw);
	}
}

/* Directives of the host; words[0] is the name. */

static void do_hide(char **words)
{
	mount_or_fail("tmpfs", path_in(root_dir, words[1]), "tmpfs", 0, "mode=1777");
}

static void do_bind(char **words)
{
	char *source = path_in(lower_dir, words[1]);
	char *target = path_in(root_dir, words[2]);
	struct stat what;

	if (!stat(source, &what) && !S_ISDIR(what.st_mode)) {
		/* the directory of @target exists */
		int fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

		if (fd < 0)
			fail("create %s", target);
		close(fd);
	} else {
		make_dirs(target);
	}
	mount_or_fail(source, target, NULL, MS_BIND, NULL);
}

static void do_share(char **words)
{
	char *target = path_in(root_dir, words[3]);
	bool is_9p = !strcmp(words[1], "9p");

	make_dirs(target);
	mount_or_fail(words[2], target, words[1], 0,
		      is_9p ? "trans=virtio,version=9p2000.L,msize=512000" : words[2]);
}

static void do_module(char **words)
{
	/* a directory of the host outside the guest's root exists only once it is shared */
	const char *path = path_in(root_dir, words[1]);

	insert_module(access(path, R_OK) ? path_in(lower_dir, words[1]) : path,
		      words[2] ? words[2] : "");
}

static void do_env(char **words)
{
	setenv(words[1], words[2], 1);
}

static void do_cwd(char **words)
{
	command.cwd = strdup(words[1]);
}

static void do_tty(char **words)
{
	command.tty = true;
	command.window.ws_row = atoi(words[1]);
	command.window.ws_col = atoi(words[2]);
}

static void do_arg(char **words)
{
	command.argv = realloc(command.argv, (command.argc + 2) * sizeof(*command.argv));
	if (!command.argv)
		fail("out of memory");
	command.argv[command.argc++] = strdup(words[1]);
	command.argv[command.argc] = NULL;
}

/* Make the tree of the command the root. */
static void do_root(char **words)
{
	(void)words;
	mount_or_fail("devtmpfs", path_in(root_dir, "/dev"), "devtmpfs", 0, NULL);
	mount_or_fail("proc", path_in(root_dir, "/proc"), "proc", 0, NULL);
	mount_or_fail("sysfs", path_in(root_dir, "/sys"), "sysfs", 0, NULL);
	if (chdir(root_dir) || mount(".", "/", NULL, MS_MOVE, NULL) || chroot(".") || chdir("/"))
		fail("change root");
	mkdir("/dev/pts", 0755);
	mkdir("/dev/shm", 01777);
	mount_or_fail("devpts", "/dev/pts", "devpts", 0, "gid=5,mode=620,ptmxmode=666");
	mount_or_fail("tmpfs", "/dev/shm", "tmpfs", 0, "mode=1777");
	mount_if_there("debugfs", "/sys/kernel/debug", "debugfs", NULL);
	mount_if_there("tracefs", "/sys/kernel/tracing", "tracefs", NULL);
	mount_if_there("configfs", "/sys/kernel/config", "configfs", NULL);
	mount_if_there("cgroup2", "/sys/fs/cgroup", "cgroup2", NULL);
	symlink("/proc/self/fd", "/dev/fd");
	symlink("/proc/self/fd/0", "/dev/stdin");
	symlink("/proc/self/fd/1", "/dev/stdout");
	symlink("/proc/self/fd/2", "/dev/stderr");
	lower_dir = "";
	root_dir = "";
}

static const struct {
	const char *name;
	int words;
	void (*run)(char **words);
} directives[] = {
	{ "hide", 2, do_hide }, /* PATH: an empty, writable directory */
	{ "bind", 3, do_bind }, /* HOST-PATH PATH */
	{ "share", 4, do_share }, /* FSTYPE SOURCE PATH: the writable share */
	{ "module", 2, do_module }, /* HOST-PATH [PARAMETERS] */
	{ "env", 3, do_env }, /* NAME VALUE */
	{ "cwd", 2, do_cwd }, /* PATH */
	{ "tty", 3, do_tty }, /* ROWS COLUMNS: run on a terminal, not on pipes */
	{ "arg", 2, do_arg }, /* next word of the command */
	{ "root", 1, do_root }, /* no more mounts: enter the tree */
};

/* Returns false for "run", the last directive. */
static bool do_directive(char *text, size_t len)
{
	char *words[WORDS_MAX + 1] = { 0 };
	int count = 0;
	size_t pos = 0;

	while (pos < len && count < WORDS_MAX) {
		words[count++] = text + pos;
		pos += strlen(text + pos) + 1;
	}
	if (count && !strcmp(words[0], "run"))
		return false;
	for (size_t i = 0; count && i < sizeof(directives) / sizeof(directives[0]); i++) {
		if (strcmp(directives[i].name, words[0]))
			continue;
		if (count < directives[i].words)
			break;
		directives[i].run(words);
		return true;
	}
	errno = 0;
	fail("bad directive '%s'", count ? words[0] : "");
}

/* Bytes from the host: up to one whole frame and the bytes after it. */
static struct {
	uint8_t data[FRAME_HEADER_BYTES + FRAME_MAX_BYTES + 1];
	size_t used;
} inbox;

static size_t inbox_frame_bytes(void)
{
	uint32_t len;

	if (inbox.used < FRAME_HEADER_BYTES)
		return 0;
	memcpy(&len, inbox.data + 1, sizeof(len));
	if (len > FRAME_MAX_BYTES)
		power_off();
	return inbox.used >= FRAME_HEADER_BYTES + len ? FRAME_HEADER_BYTES + len : 0;
}

static void inbox_fill(void)
{
	/* keep one byte free, for the NUL after a directive's last word */
	ssize_t n = read(port, inbox.data + inbox.used, sizeof(inbox.data) - 1 - inbox.used);

	if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		power_off();
	if (n > 0)
		inbox.used += n;
}

static void inbox_drop(size_t bytes)
{
	inbox.used -= bytes;
	memmove(inbox.data, inbox.data + bytes, inbox.used);
}

static void obey_directives(void)
{
	bool more = true;

	while (more) {
		size_t bytes = inbox_frame_bytes();
		uint8_t next;

		if (!bytes) {
			inbox_fill();
			continue;
		}
		next = inbox.data[bytes];
		inbox.data[bytes] = 0;
		if (inbox.data[0] == FRAME_DIRECTIVE)
			more = do_directive((char *)inbox.data + FRAME_HEADER_BYTES,
					    bytes - FRAME_HEADER_BYTES);
		inbox.data[bytes] = next;
		inbox_drop(bytes);
	}
}

static uint32_t read_taint(void)
{
	uint32_t taint = 0;
	FILE *f = fopen("/proc/sys/kernel/tainted", "re");

	if (f) {
		if (fscanf(f, "%u", &taint) != 1)
			taint = 0;
		fclose(f);
	}
	return taint;
}

/* The command and the guest's ends of its input and output. -1: closed. */
static struct {
	pid_t pid;
	int in, out, err;
	uint8_t pending[FRAME_MAX_BYTES];
	size_t pending_len, pending_done;
} child = { .in = -1, .out = -1, .err = -1 };

static void __attribute__((noreturn)) exec_command(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (command.cwd && chdir(command.cwd)) {
		fprintf(stderr, "vm: cannot enter %s in the guest: %s\n", command.cwd,
			strerror(errno));
		_exit(126);
	}
	execvp(command.argv[0], command.argv);
	fprintf(stderr, "vm: cannot run %s in the guest: %s\n", command.argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static void start_on_tty(void)
{
	const char *slave_path;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	int slave;

	if (master < 0 || grantpt(master) || unlockpt(master))
		fail("open a pseudo terminal");
	slave_path = ptsname(master);
	slave = open(slave_path, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0)
		fail("open %s", slave_path);
	ioctl(master, TIOCSWINSZ, &command.window);
	child.pid = fork();
	if (!child.pid) {
		setsid();
		ioctl(slave, TIOCSCTTY, 0);
		dup2(slave, 0);
		dup2(slave, 1);
		dup2(slave, 2);
		exec_command();
	}
	close(slave);
	child.in = master;
	child.out = master;
}

static void start_on_pipes(void)
{
	int in[2], out[2], err[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		fail("pipe");
	child.pid = fork();
	if (!child.pid) {
		setsid();
		dup2(in[0], 0);
		dup2(out[1], 1);
		dup2(err[1], 2);
		exec_command();
	}
	close(in[0]);
	close(out[1]);
	close(err[1]);
	child.in = in[1];
	child.out = out[0];
	child.err = err[0];
}

static void set_nonblocking(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void start_command(void)
{
	if (!command.argc) {
		errno = 0;
		fail("no command");
	}
	if (command.tty)
		start_on_tty();
	else
		start_on_pipes();
	if (child.pid < 0)
		fail("fork");
	set_nonblocking(child.in);
	set_nonblocking(child.out);
	set_nonblocking(child.err);
	send_frame(FRAME_RUNNING, NULL, 0);
}

/* Relays available output. Returns false when the peer is closed. */
static bool relay_output(int fd, enum frame_type type)
{
	char buf[16384];

	for (;;) {
		ssize_t n = read(fd, buf, sizeof(buf));

		if (n > 0)
			send_frame(type, buf, n);
		else if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		else
			return false; /* a pty whose last user has closed it returns EIO */
	}
}

static void close_input(void)
{
	if (child.in < 0)
		return;
	if (command.tty)
		write_all(child.in, "\004", 1);
	else
		close(child.in);
	child.in = -1;
}

static void feed_input(void)
{
	ssize_t n = write(child.in, child.pending + child.pending_done,
			  child.pending_len - child.pending_done);

	if (n > 0)
		child.pending_done += n;
	else if (errno != EAGAIN && errno != EINTR)
		child.pending_done = child.pending_len; /* no reader is left */
	if (child.pending_done < child.pending_len)
		return;
	child.pending_len = 0;
	child.pending_done = 0;
	send_frame(FRAME_TAKEN, NULL, 0);
}

/* Handles one frame of the host while the command runs. */
static void obey_frame(const uint8_t *frame, size_t bytes)
{
	const uint8_t *data = frame + FRAME_HEADER_BYTES;
	size_t len = bytes - FRAME_HEADER_BYTES;

	switch (frame[0]) {
	case FRAME_STDIN:
		if (child.in < 0) {
			send_frame(FRAME_TAKEN, NULL, 0);
			break;
		}
		memcpy(child.pending, data, len);
		child.pending_len = len;
		if (len)
			feed_input();
		else
			close_input();
		break;
	case FRAME_WINDOW:
		if (len == 4 && command.tty) {
			command.window.ws_row = data[0] | data[1] << 8;
			command.window.ws_col = data[2] | data[3] << 8;
			ioctl(child.out, TIOCSWINSZ, &command.window);
		}
		break;
	case FRAME_SIGNAL:
		if (len == 1)
			kill(-child.pid, data[0]);
		break;
	}
}

/* Returns true when the command itself has ended, with its status as a shell reports it. */
static bool reap(uint32_t *result)
{
	bool ended = false;
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != child.pid)
			continue;
		*result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		ended = true;
	}
	return ended;
}

static bool write_kmemleak(const char *path, const char *command)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, command, strlen(command)) > 0;

	if (fd >= 0)
		close(fd);
	return ok;
}

/*
 * With kmemleak: scan for memory that the command leaked. The host detects the kernel's log of a
 * leak. kmemleak reports objects older than five seconds. The second scan finds leaks to which a
 * stack or register pointed by chance in the first one.
 */
static void look_for_leaks(void)
{
	char *path = path_in(root_dir, "/sys/kernel/debug/kmemleak");
	char text[FRAME_MAX_BYTES];
	ssize_t n;
	int fd;

	if (write_kmemleak(path, "scan")) {
		sleep(LEAK_AGE_S);
		write_kmemleak(path, "scan");
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? 0 : read(fd, text, sizeof(text));
		if (n > 0)
			send_frame(FRAME_STDERR, text, (uint32_t)n);
		if (fd >= 0)
			close(fd);
	}
	free(path);
}

static void relay_until_exit(int children)
{
	uint32_t result[2] = { 0 };
	bool ended = false;

	while (!ended) {
		enum { PORT, KMSG, CHILDREN, OUT, ERR, IN, COUNT };
		struct pollfd fds[COUNT] = {
			[PORT] = { .fd = port, .events = POLLIN },
			[KMSG] = { .fd = kmsg, .events = POLLIN },
			[CHILDREN] = { .fd = children, .events = POLLIN },
			[OUT] = { .fd = child.out, .events = POLLIN },
			[ERR] = { .fd = child.err, .events = POLLIN },
			[IN] = { .fd = child.pending_len ? child.in : -1, .events = POLLOUT },
		};
		size_t bytes;

		if (poll(fds, COUNT, -1) < 0)
			continue;
		if (fds[KMSG].revents)
			relay_kmsg();
		if (fds[OUT].revents && !relay_output(child.out, FRAME_STDOUT))
			child.out = -1;
		if (fds[ERR].revents && !relay_output(child.err, FRAME_STDERR))
			child.err = -1;
		if (fds[IN].revents)
			feed_input();
		if (fds[PORT].revents)
			inbox_fill();
		/* the host sends no input while some is pending */
		while ((bytes = inbox_frame_bytes())) {
			obey_frame(inbox.data, bytes);
			inbox_drop(bytes);
		}
		if (fds[CHILDREN].revents) {
			struct signalfd_siginfo info;

			while (read(children, &info, sizeof(info)) > 0)
				;
			ended = reap(&result[0]);
		}
	}
	/* drain the pipes; background children of the command may still hold them open */
	if (child.out >= 0)
		relay_output(child.out, FRAME_STDOUT);
	if (child.err >= 0)
		relay_output(child.err, FRAME_STDERR);
	look_for_leaks();
	relay_kmsg();
	result[1] = read_taint();
	send_frame(FRAME_EXIT, result, sizeof(result));
}

int main(void)
{
	const char *root = getenv("perfctr_root");
	sigset_t set;
	int children;

	/* prompts and captures have it */
	sethostname("vm", strlen("vm"));
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	children = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);

	mkdir("/dev", 0755);
	/* -EBUSY if the kernel has mounted it */
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	if (root) {
		/* initramfs: mounting the host's tree needs modules */
		insert_boot_modules();
		lower_dir = "/lower";
		root_dir = "/root";
	} else {
		mount_or_fail("tmpfs", "/run", "tmpfs", 0, "mode=755");
		lower_dir = "/run/lower";
		root_dir = "/run/root";
	}
	kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	open_port();
	if (kmsg < 0)
		fail("open /dev/kmsg");
	mkdir(lower_dir, 0755);
	mkdir(root_dir, 0755);
	if (root)
		mount_or_fail(root, lower_dir, "9p", MS_RDONLY, ROOT_9P_OPTIONS);
	else
		mount_or_fail("/", lower_dir, NULL, MS_BIND, NULL);
	mount_or_fail(lower_dir, root_dir, NULL, MS_BIND, NULL);
	/* the host may reject a kernel by its boot messages */
	relay_kmsg();
	send_frame(FRAME_HELLO, NULL, 0);
	obey_directives();
	unsetenv("perfctr_port");
	unsetenv("perfctr_root");
	start_command();
	relay_until_exit(children);
	power_off();
}
