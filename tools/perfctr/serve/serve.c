// SPDX-License-Identifier: MIT
/*
 * perfctr serve: sessions for processes that may not create them.
 *
 * The broker checks the credentials of each peer and starts a process for each client that the
 * policy accepts. A client can harm only its own process, and everything that the client had is
 * released when that process ends.
 */
#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perfctr/broker.h>

#include "commands.h"
#include "common/number.h"
#include "lib/device.h"
#include "lib/json.h"
#include "lib/option.h"
#include "client.h"
#include "hub.h"
#include "log.h"
#include "policy.h"
#include "lib/signals.h"

static const char help[] =
	"usage: perfctr serve [OPTION...]\n"
	"\n"
	"Gives unprivileged users sessions: as file descriptors of a ring\n"
	"whose samples they can only read, and of an eventfd. Who may have what is in a\n"
	"policy; nobody else gets anything. Runs until SIGTERM; SIGHUP reads the policy\n"
	"again, for new clients.\n"
	"\n"
	"  -s, --socket PATH     listen there (default: " PERFCTR_BROKER_SOCKET ", or the\n"
	"                        socket that systemd passes)\n"
	"      --policy FILE     (default: " SERVE_POLICY_PATH ")\n"
	"      --mode MODE       permissions of the socket (default: 0666, the policy decides)\n"
	"      --group GROUP     group of the socket\n"
	"      --idle-exit TIME  end when there was no client for that long\n"
	"      --check           read the policy, say what it allows, and end\n"
	"  -j, --json            log lines, or the result of --check, as JSON\n"
	"\n"
	"Clients: perfctr stat --via " PERFCTR_BROKER_SOCKET
	", perfctr top, perfctr list; libperfctr:\n"
	"perfctr_device_open_broker(). Exit: 0 ended by a signal or idle, 1 error, 2 usage,\n"
	"3 this user may not count, so cannot serve.\n";

enum {
	SYSTEMD_FIRST_FD = 3,
	BACKLOG = 128,
	MAX_GROUPS = 65536,
};

/* a process that serves a client */
struct child {
	pid_t pid;
	uid_t uid;
};

struct server {
	struct app *app;
	struct serve_log log;
	struct serve_policy policy;
	const char *policy_path;
	const char *socket_path;
	const char *group;
	mode_t mode;
	uint64_t idle_ns;
	bool check;
	int listener;
	/* the broker created the socket's file, and removes it */
	bool owns_path;
	struct signals signals;
	struct child *children;
	size_t child_count;
	struct serve_shared *shared;
	/* the process that counts exclusive devices for all clients, 0: none; its socket */
	pid_t hub_pid;
	int hub;
	struct sockaddr_un address; /* of the listener, for the clients' processes */
	unsigned long connections;
	uint64_t idle_since_ns;
};

/* --- options ----------------------------------------------------------------------- */

static int take_mode(const struct app *app, void *server, const char *text)
{
	struct server *s = server;
	char *end;
	unsigned long mode = strtoul(text, &end, 8);

	if (!*text || *end || mode > 0777)
		return app_usage(app, "--mode '%s': give an octal number such as 0660", text);
	s->mode = (mode_t)mode;
	return 0;
}

static int parse_options(struct server *s, int argc, char **argv)
{
	const struct option_spec options[] = {
		OPTION('s', "socket", TEXT, &s->socket_path),
		OPTION(0, "policy", TEXT, &s->policy_path),
		OPTION(0, "mode", CALL, s, .call = take_mode),
		OPTION(0, "group", TEXT, &s->group),
		OPTION(0, "idle-exit", SECONDS, &s->idle_ns),
		OPTION(0, "check", FLAG, &s->check),
		OPTION('j', "json", FLAG, &s->log.json),
		OPTIONS_END,
	};

	return option_parse(s->app, argc, argv, help, options, THEN_NOTHING);
}

/* --- the policy -------------------------------------------------------------------- */

static int read_policy(struct server *s, struct serve_policy *policy)
{
	char reason[640];

	if (!serve_policy_read(s->policy_path, policy, reason, sizeof(reason)))
		return 0;
	app_error(s->app, "%s", reason);
	return EXIT_FAILED;
}

static void print_words(FILE *out, const char *key, const struct serve_words *words)
{
	fprintf(out, "  %-11s", key);
	for (size_t i = 0; i < words->count; i++)
		fprintf(out, " %s", words->words[i]);
	fputs(words->count ? "\n" : " (none)\n", out);
}

static void show_policy(const struct server *s)
{
	FILE *out = s->app->out;

	fprintf(out, "%s: %u client%s, %u of a user\n", s->policy_path, s->policy.clients,
		plural(s->policy.clients), s->policy.clients_per_user);
	for (size_t i = 0; i < s->policy.rule_count; i++) {
		const struct serve_rule *r = &s->policy.rules[i];

		fprintf(out, "rule %s:\n", r->name);
		print_words(out, "users", &r->users);
		print_words(out, "groups", &r->groups);
		print_words(out, "devices", &r->devices);
		print_words(out, "blocks", &r->blocks);
		print_words(out, "pmus", &r->pmus);
		fprintf(out,
			"  %-11s %u session%s, %u counter%s, %llu bytes of rings, period %llu ns, "
			"%s\n",
			"limits", r->sessions, plural(r->sessions), r->counters,
			plural(r->counters), (unsigned long long)r->ring_bytes,
			(unsigned long long)r->min_period_ns,
			r->keep_awake ? "may keep the GPU awake" : "may not keep the GPU awake");
	}
	fputs("everybody else: nothing\n", out);
}

static void add_json_words(struct json_object *o, const char *key, const struct serve_words *words)
{
	struct json_object *list = json_object_new_array();

	for (size_t i = 0; i < words->count; i++)
		json_append_text(list, words->words[i]);
	json_add(o, key, list);
}

static void show_policy_json(const struct server *s)
{
	struct json_object *root = json_object_new_object();
	struct json_object *rules = json_object_new_array();

	json_add_text(root, "policy", s->policy_path);
	json_add_u64(root, "clients", s->policy.clients);
	json_add_u64(root, "clients_per_user", s->policy.clients_per_user);
	for (size_t i = 0; i < s->policy.rule_count; i++) {
		const struct serve_rule *r = &s->policy.rules[i];
		struct json_object *o = json_append(rules);

		json_add_text(o, "rule", r->name);
		add_json_words(o, "users", &r->users);
		add_json_words(o, "groups", &r->groups);
		add_json_words(o, "devices", &r->devices);
		add_json_words(o, "blocks", &r->blocks);
		add_json_words(o, "pmus", &r->pmus);
		json_add_u64(o, "sessions", r->sessions);
		json_add_u64(o, "counters", r->counters);
		json_add_u64(o, "ring_bytes", r->ring_bytes);
		json_add_u64(o, "min_period_ns", r->min_period_ns);
		json_add_bool(o, "keep_awake", r->keep_awake);
	}
	json_add(root, "rules", rules);
	json_write(s->app->out, root, true);
}

/* --- the socket -------------------------------------------------------------------- */

static int socket_from_systemd(struct server *s)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	int type = 0;
	socklen_t length = sizeof(type);

	if (!pid || !fds || strtol(pid, NULL, 10) != getpid() || strtol(fds, NULL, 10) < 1)
		return 0;
	if (getsockopt(SYSTEMD_FIRST_FD, SOL_SOCKET, SO_TYPE, &type, &length) ||
	    type != SOCK_SEQPACKET) {
		app_error(s->app, "the socket of systemd must be ListenSequentialPacket=");
		return EXIT_FAILED;
	}
	s->listener = SYSTEMD_FIRST_FD;
	s->socket_path = "the socket of systemd";
	return 0;
}

/* A broker that was killed leaves its socket's file; a running one accepts a connection. */
static bool remove_stale(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	bool stale = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) &&
		     errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return stale && !unlink(address->sun_path);
}

static int set_owner(struct server *s)
{
	const struct group *group = s->group ? getgrnam(s->group) : NULL;

	if (s->group && !group) {
		app_error(s->app, "--group: there is no group '%s'", s->group);
		return EXIT_USAGE;
	}
	if ((!group || !chown(s->socket_path, (uid_t)-1, group->gr_gid)) &&
	    !chmod(s->socket_path, s->mode))
		return 0;
	app_error(s->app, "%s: %s", s->socket_path, strerror(errno));
	return EXIT_FAILED;
}

static int open_socket(struct server *s)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	size_t length = strlen(s->socket_path);
	mode_t mask;
	int result;

	if (length >= sizeof(address.sun_path)) {
		app_error(s->app, "%s: a socket's path has at most %zu characters", s->socket_path,
			  sizeof(address.sun_path) - 1);
		return EXIT_USAGE;
	}
	memcpy(address.sun_path, s->socket_path, length + 1);
	s->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (s->listener < 0) {
		app_error(s->app, "socket: %s", strerror(errno));
		return EXIT_FAILED;
	}
	/* no client connects before owner and mode are right */
	mask = umask(0777);
	result = bind(s->listener, (const struct sockaddr *)&address, sizeof(address));
	if (result && errno == EADDRINUSE && remove_stale(&address))
		result = bind(s->listener, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	if (result) {
		app_error(s->app, "%s: %s", s->socket_path,
			  errno == EADDRINUSE ? "another broker listens there" : strerror(errno));
		return EXIT_FAILED;
	}
	s->owns_path = true;
	result = set_owner(s);
	if (result)
		return result;
	if (!listen(s->listener, BACKLOG))
		return 0;
	app_error(s->app, "%s: %s", s->socket_path, strerror(errno));
	return EXIT_FAILED;
}

/* --- clients ----------------------------------------------------------------------- */

static int read_peer(int fd, struct serve_peer *peer)
{
	struct ucred credentials;
	socklen_t length = sizeof(credentials);
	gid_t *groups = NULL;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length))
		return -errno;
	peer->pid = credentials.pid;
	peer->uid = credentials.uid;
	peer->gid = credentials.gid;
	/* the kernel returns the size that it needs */
	length = 0;
	while (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length)) {
		free(groups);
		groups = NULL;
		if (errno != ERANGE || length > MAX_GROUPS * sizeof(gid_t))
			return -errno;
		groups = malloc(length);
		if (!groups)
			return -ENOMEM;
	}
	peer->groups = groups;
	peer->group_count = groups ? length / sizeof(gid_t) : 0;
	return 0;
}

static size_t clients_of(const struct server *s, uid_t uid)
{
	size_t count = 0;

	for (size_t i = 0; i < s->child_count; i++)
		count += s->children[i].uid == uid;
	return count;
}

static void __attribute__((format(printf, 5, 6)))
turn_away(struct server *s, const struct serve_peer *peer, int fd, int error, const char *format,
	  ...)
{
	char text[384];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	serve_log_line(&s->log, "refused", peer, "%s", text);
	serve_client_refuse(fd, error, text);
}

/* In a new process: what it does not need of the broker. */
static void leave_broker(struct server *s, pid_t parent)
{
	/* if the broker is killed, its clients' sessions end too */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(EXIT_FAILED);
	sigprocmask(SIG_SETMASK, &s->signals.before, NULL);
	close(s->listener);
	close(s->signals.fd);
	if (s->hub >= 0)
		close(s->hub);
}

/* Start the hub. Return: 0 or a negative errno. */
static int start_hub(struct server *s)
{
	const pid_t parent = getpid();
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	fflush(NULL);
	s->hub_pid = fork();
	if (!s->hub_pid) {
		leave_broker(s, parent);
		close(ends[0]);
		serve_hub_run(s->app, ends[1]);
		_exit(EXIT_FINE);
	}
	close(ends[1]);
	if (s->hub_pid > 0) {
		s->hub = ends[0];
		return 0;
	}
	s->hub_pid = 0;
	close(ends[0]);
	return -EAGAIN;
}

static bool is_child(const struct server *s, pid_t pid)
{
	for (size_t i = 0; i < s->child_count; i++)
		if (s->children[i].pid == pid)
			return true;
	return false;
}

/* A client's process wants a device that the hub has. */
static void pass_to_hub(struct server *s, int fd)
{
	int error = s->hub_pid ? 0 : start_hub(s);

	if (error)
		serve_client_refuse(fd, error, "the broker has no process for this device");
	else
		serve_hub_pass(s->hub, fd);
}

/* In the new process: keeps only the policy of the broker. Does not return. */
static void serve_in_child(struct server *s, const struct serve_rule *rule,
			   const struct serve_peer *peer, const struct serve_share *share, int fd,
			   pid_t parent)
{
	leave_broker(s, parent);
	serve_client_run(s->app, &s->log, rule, peer, share,
			 s->address.sun_path[0] ? s->address.sun_path : NULL, fd);
	fflush(s->log.to);
	_exit(EXIT_FINE);
}

static void start_child(struct server *s, const struct serve_rule *rule,
			const struct serve_peer *peer, int fd)
{
	struct child *children = realloc(s->children, (s->child_count + 1) * sizeof(*children));
	pid_t parent = getpid(), pid = -1;
	struct serve_share share;

	if (children)
		s->children = children;
	if (children && serve_share_take(s->shared, peer->uid, perfctr_time_raw_ns(), &share)) {
		fflush(NULL);
		pid = fork();
	}
	if (!pid)
		serve_in_child(s, rule, peer, &share, fd, parent);
	if (pid < 0) {
		turn_away(s, peer, fd, -EAGAIN,
			  "the broker has no process or memory for another client");
		return;
	}
	close(fd);
	serve_share_note(&share, pid);
	s->children[s->child_count++] = (struct child){ .pid = pid, .uid = peer->uid };
}

static void admit(struct server *s, int fd)
{
	struct serve_peer peer = { .number = ++s->connections };
	const struct serve_rule *rule;
	int error = read_peer(fd, &peer);

	rule = error ? NULL : serve_policy_rule(&s->policy, &peer);
	if (!error && is_child(s, peer.pid))
		pass_to_hub(s, fd);
	else if (error)
		turn_away(s, &peer, fd, -EACCES, "the kernel does not report who you are: %s",
			  strerror(-error));
	else if (!rule)
		turn_away(s, &peer, fd, -EACCES,
			  "the broker's policy names neither user %u nor one of his groups; "
			  "root changes that in %s",
			  peer.uid, s->policy_path);
	else if (s->child_count >= s->policy.clients)
		turn_away(s, &peer, fd, -EUSERS, "the broker has %zu client%s, the most it takes",
			  s->child_count, plural(s->child_count));
	else if (clients_of(s, peer.uid) >= s->policy.clients_per_user)
		turn_away(s, &peer, fd, -EUSERS,
			  "user %u has %zu connection%s to the broker, the most it takes", peer.uid,
			  clients_of(s, peer.uid), plural(clients_of(s, peer.uid)));
	else
		start_child(s, rule, &peer, fd);
	free(peer.groups);
}

static void accept_client(struct server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd >= 0)
		admit(s, fd);
	else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
		serve_log_line(&s->log, "accept", NULL, "accept: %s", strerror(errno));
}

static void reap_children(struct server *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == s->hub_pid) {
			close(s->hub);
			s->hub = -1;
			s->hub_pid = 0;
		}
		for (size_t i = 0; i < s->child_count; i++) {
			if (s->children[i].pid != pid)
				continue;
			s->children[i] = s->children[--s->child_count];
			serve_share_drop(s->shared, pid);
			break;
		}
		if (WIFSIGNALED(status))
			serve_log_line(&s->log, "killed", NULL, "process %d was ended by signal %d",
				       pid, WTERMSIG(status));
	}
}

static void end_children(struct server *s)
{
	for (size_t i = 0; i < s->child_count; i++)
		kill(s->children[i].pid, SIGKILL);
	if (s->hub_pid)
		kill(s->hub_pid, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

/* --- running ------------------------------------------------------------------------ */

static void reload(struct server *s)
{
	struct serve_policy policy;

	if (read_policy(s, &policy)) {
		serve_log_line(&s->log, "policy", NULL, "the policy stays as it was");
		return;
	}
	serve_policy_free(&s->policy);
	s->policy = policy;
	serve_log_line(&s->log, "policy", NULL, "%s: %zu rule%s", s->policy_path,
		       s->policy.rule_count, plural(s->policy.rule_count));
}

/* Return: whether to exit. */
static bool take_signals(struct server *s)
{
	struct signalfd_siginfo info;
	bool end = false;

	while (signals_next(&s->signals, &info)) {
		if (info.ssi_signo == SIGHUP)
			reload(s);
		else if (info.ssi_signo != SIGCHLD)
			end = true;
	}
	reap_children(s);
	return end;
}

static int idle_left_ms(struct server *s)
{
	uint64_t now = perfctr_time_raw_ns();

	if (!s->idle_ns)
		return -1;
	if (s->child_count || !s->idle_since_ns) {
		s->idle_since_ns = now;
		return s->child_count ? -1 : (int)(s->idle_ns / NS_PER_MS) + 1;
	}
	if (now - s->idle_since_ns >= s->idle_ns)
		return 0;
	return (int)((s->idle_ns - (now - s->idle_since_ns)) / NS_PER_MS) + 1;
}

static void serve(struct server *s)
{
	struct pollfd fds[] = {
		{ .fd = s->signals.fd, .events = POLLIN },
		{ .fd = s->listener, .events = POLLIN },
	};
	int left_ms;

	serve_log_line(&s->log, "listen", NULL, "listening at %s, policy %s, %zu rules",
		       s->socket_path, s->policy_path, s->policy.rule_count);
	while ((left_ms = idle_left_ms(s)) != 0) {
		int ready = poll(fds, ARRAY_SIZE(fds), left_ms);

		if (ready < 0 && errno != EINTR)
			break;
		if (take_signals(s))
			break;
		if (ready > 0 && fds[1].revents)
			accept_client(s);
	}
	end_children(s);
	serve_log_line(&s->log, "end", NULL, "ended after %lu clients", s->connections);
}

/* A broker that may not count cannot serve: fail at the start, not for each client. */
static int check_self(const struct server *s)
{
	if (app_has_capability(APP_CAP_PERFMON) || app_has_capability(APP_CAP_SYS_ADMIN))
		return 0;
	app_error(s->app,
		  "serving counters needs CAP_PERFMON; systemctl start perfctr-serve.socket, "
		  "or run it as root");
	return EXIT_DENIED;
}

int serve_run(struct app *app, int argc, char **argv)
{
	struct server s = {
		.app = app,
		.log.to = app->err,
		.policy_path = SERVE_POLICY_PATH,
		.socket_path = PERFCTR_BROKER_SOCKET,
		.mode = 0666,
		.listener = -1,
		.hub = -1,
		.signals.fd = -1,
	};
	const int more_signals[] = { SIGCHLD, 0 };
	socklen_t length = sizeof(s.address);
	int status = parse_options(&s, argc, argv);

	if (status)
		return status < 0 ? EXIT_FINE : status;
	status = read_policy(&s, &s.policy);
	if (!status && s.check) {
		if (s.log.json)
			show_policy_json(&s);
		else
			show_policy(&s);
		serve_policy_free(&s.policy);
		return EXIT_FINE;
	}
	if (!status)
		status = check_self(&s);
	if (!status)
		status = signals_catch(app, &s.signals, more_signals);
	if (!status)
		status = socket_from_systemd(&s);
	if (!status && s.listener < 0)
		status = open_socket(&s);
	/* NULL: a socket of systemd without a path */
	if (!status && getsockname(s.listener, (struct sockaddr *)&s.address, &length))
		s.address.sun_path[0] = '\0';
	if (!status && !(s.shared = serve_shared_new())) {
		app_error(app, "out of memory");
		status = EXIT_FAILED;
	}
	if (!status)
		serve(&s);
	if (s.owns_path)
		unlink(s.socket_path);
	if (s.listener >= 0)
		close(s.listener);
	signals_release(&s.signals);
	serve_policy_free(&s.policy);
	serve_shared_free(s.shared);
	free(s.children);
	return status;
}
