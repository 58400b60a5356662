// SPDX-License-Identifier: MIT
/* The connection to perfctr perfkit: reports each end of a frame and waits for the answer. */
#include "pctr_frames.h"

#include "pipe/p_context.h"
#include "pipe/p_defines.h"
#include "pipe/p_screen.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#define VARIABLE "PERFCTR_FRAMES"
/* messages of the protocol */
#define FRAME "frame"
#define GO "go"

enum {
	/* more than any answer */
	MESSAGE_BYTES = 64,
	NOT_ASKED = -2,
	NOBODY = -1,
};

/*
 * One per process. The thread that ends a frame waits with the lock held; other contexts skip
 * theirs.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int connection = NOT_ASKED;
/* the context whose frames are reported; NULL: the next context that asks */
static const void *reporter;
/* the message about another context's frames was printed */
static bool said_other;

bool pctr_frames_wanted(void)
{
	const char *name = getenv(VARIABLE);

	return name && *name;
}

/* Return: length of the address; 0: @name is invalid. */
static socklen_t address_of(const char *name, struct sockaddr_un *address)
{
	size_t length = strlen(name);

	*address = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (length < 2 || length >= sizeof(address->sun_path) || !strchr("@/", *name))
		return 0;
	memcpy(address->sun_path, name, length);
	/* an abstract name begins with 0 */
	if (*name == '@')
		address->sun_path[0] = 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

/*
 * Any process can listen on an abstract name after its owner has gone, and would then block this
 * program. Return: 0 or a negative errno.
 */
static int check_listener(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return -errno;
	return peer.uid && peer.uid != geteuid() ? -EPERM : 0;
}

/* Return: the connection or a negative errno; -EPERM: another user listens there. */
static int connect_to(const char *name)
{
	struct sockaddr_un address;
	socklen_t length = address_of(name, &address);
	int fd, error;

	if (!length)
		return -EINVAL;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	do
		error = connect(fd, (const struct sockaddr *)&address, length) ? -errno : 0;
	while (error == -EINTR);
	if (!error)
		error = check_listener(fd);
	if (!error)
		return fd;
	close(fd);
	return error;
}

static void disconnect(void)
{
	if (connection >= 0)
		close(connection);
	connection = NOBODY;
}

/*
 * The driver is unloaded when its last display is closed; the driver of the next display connects
 * again. At the end of the process a thread may be waiting with the lock held, and the kernel
 * closes the socket.
 */
static __attribute__((destructor)) void unload(void)
{
	if (pthread_mutex_trylock(&lock))
		return;
	disconnect();
	pthread_mutex_unlock(&lock);
}

/* In a forked child, which has one thread. The parent keeps using the connection. */
static void forget(void)
{
	disconnect();
	connection = NOT_ASKED;
	reporter = NULL;
	said_other = false;
	pthread_mutex_init(&lock, NULL);
}

static void say_refused(pctr_frames_say_fn say, const char *name, int error)
{
	char text[256];

	if (error == -EPERM)
		snprintf(text, sizeof(text),
			 "%s='%s' is not of a perfctr of this user or of root: "
			 "frames are not reported",
			 VARIABLE, name);
	else if (error == -ECONNREFUSED)
		snprintf(text, sizeof(text),
			 "%s='%s': perfctr perfkit --frames has ended: frames are not reported",
			 VARIABLE, name);
	else
		snprintf(text, sizeof(text),
			 "%s='%s' is no socket of perfctr perfkit --frames: %s; "
			 "frames are not reported",
			 VARIABLE, name, strerror(-error));
	say(text);
}

static void ask(pctr_frames_say_fn say)
{
	static bool has_handler;
	const char *name = getenv(VARIABLE);
	int fd;

	connection = NOBODY;
	if (!name || !*name)
		return;
	if (!has_handler && pthread_atfork(NULL, NULL, forget)) {
		say(VARIABLE ": out of memory; frames are not reported");
		return;
	}
	has_handler = true;
	fd = connect_to(name);
	if (fd >= 0)
		connection = fd;
	else
		say_refused(say, name, fd);
}

/* Return: whether the tool expects the next frame too. */
static bool report_end(const char *values)
{
	char answer[MESSAGE_BYTES];
	struct iovec parts[] = {
		{ (void *)(uintptr_t)FRAME, strlen(FRAME) },
		{ (void *)(uintptr_t)values, strlen(values) },
	};
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t bytes;

	do
		bytes = sendmsg(connection, &message, MSG_NOSIGNAL);
	while (bytes < 0 && errno == EINTR);
	if (bytes < 0)
		return false;
	do
		bytes = recv(connection, answer, sizeof(answer), 0);
	while (bytes < 0 && errno == EINTR);
	return bytes == (ssize_t)strlen(GO) && !memcmp(answer, GO, strlen(GO));
}

bool pctr_frames_listens(const void *context, pctr_frames_say_fn say)
{
	bool listens;

	pthread_mutex_lock(&lock);
	if (connection == NOT_ASKED)
		ask(say);
	if (connection >= 0 && !reporter)
		reporter = context;
	listens = connection >= 0 && reporter == context;
	if (connection >= 0 && !listens && !said_other) {
		said_other = true;
		say("a second context draws frames, not reported to perfctr perfkit --frames: "
		    "those of the first one are, until it is destroyed");
	}
	pthread_mutex_unlock(&lock);
	return listens;
}

void pctr_frames_end(const void *context, const char *values)
{
	pthread_mutex_lock(&lock);
	if (connection >= 0 && reporter == context && !report_end(values))
		disconnect();
	pthread_mutex_unlock(&lock);
}

void pctr_frames_leave(const void *context)
{
	pthread_mutex_lock(&lock);
	if (reporter == context)
		reporter = NULL;
	pthread_mutex_unlock(&lock);
}

/* --- counters of the driver ------------------------------------------------ */

/* the tool takes 64 values in 4096 bytes; names of drivers are short */
enum { MOST_QUERIES = 48, TEXT_BYTES = 3072 };

struct pctr_software {
	struct pipe_context *pipe;
	const struct pctr_functions *driver;
	struct software_query {
		const char *name, *unit;
		struct pipe_query *query;
		bool active;
	} queries[MOST_QUERIES];
	unsigned count;
	struct software_query statistics;
	/* of the frame; the driver's own count, which may be another, takes precedence */
	uint64_t draws;
	bool counts_draws;
	char text[TEXT_BYTES];
};

/* as in the HUD */
static const struct {
	const char *name;
	size_t offset;
} statistics_names[] = {
#define STATISTIC(name, member)                                                    \
	{                                                                          \
		name, offsetof(struct pipe_query_data_pipeline_statistics, member) \
	}
	STATISTIC("ia-vertices", ia_vertices),
	STATISTIC("ia-primitives", ia_primitives),
	STATISTIC("vs-invocations", vs_invocations),
	STATISTIC("gs-invocations", gs_invocations),
	STATISTIC("gs-primitives", gs_primitives),
	STATISTIC("clipper-invocations", c_invocations),
	STATISTIC("clipper-primitives-generated", c_primitives),
	STATISTIC("ps-invocations", ps_invocations),
	STATISTIC("hs-invocations", hs_invocations),
	STATISTIC("ds-invocations", ds_invocations),
	STATISTIC("cs-invocations", cs_invocations),
#undef STATISTIC
};

/* NULL: not a whole number */
static const char *unit_of(const struct pipe_driver_query_info *info)
{
	switch (info->type) {
	case PIPE_DRIVER_QUERY_TYPE_UINT64:
	case PIPE_DRIVER_QUERY_TYPE_UINT:
		return "";
	case PIPE_DRIVER_QUERY_TYPE_BYTES:
		return "bytes";
	case PIPE_DRIVER_QUERY_TYPE_MICROSECONDS:
		return "us";
	case PIPE_DRIVER_QUERY_TYPE_HZ:
		return "Hz";
	default:
		return NULL;
	}
}

/* Batch queries are hardware counters, which some drivers can count for one reader only. */
static void add_queries(struct pctr_software *s, pctr_query_info_fn query_info)
{
	struct pipe_screen *screen = s->pipe->screen;
	unsigned count = query_info ? (unsigned)query_info(screen, 0, NULL) : 0;

	for (unsigned n = 0; n < count && s->count < MOST_QUERIES; n++) {
		struct pipe_driver_query_info info = { 0 };
		struct software_query *q = &s->queries[s->count];

		if (!query_info(screen, n, &info) || info.flags & PIPE_DRIVER_QUERY_FLAG_BATCH ||
		    !unit_of(&info))
			continue;
		q->name = info.name;
		q->unit = unit_of(&info);
		q->query = s->driver->create_query(s->pipe, info.query_type, 0);
		s->count += !!q->query;
		if (q->query && strstr(info.name, "draw-calls"))
			s->counts_draws = false;
	}
}

struct pctr_software *pctr_software_new(struct pipe_context *pipe,
					const struct pctr_functions *driver,
					pctr_query_info_fn query_info, bool has_statistics)
{
	struct pctr_software *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pipe = pipe;
	s->driver = driver;
	s->counts_draws = true;
	add_queries(s, query_info);
	if (has_statistics)
		s->statistics.query = driver->create_query(pipe, PIPE_QUERY_PIPELINE_STATISTICS, 0);
	pctr_software_begin(s);
	return s;
}

static void begin(const struct pctr_software *s, struct software_query *q)
{
	q->active = q->query && s->driver->begin_query(s->pipe, q->query);
}

void pctr_software_begin(struct pctr_software *software)
{
	for (unsigned n = 0; n < software->count; n++)
		begin(software, &software->queries[n]);
	begin(software, &software->statistics);
}

static bool end(const struct pctr_software *s, struct software_query *q,
		union pipe_query_result *result)
{
	bool ok = q->active && s->driver->end_query(s->pipe, q->query);

	q->active = false;
	*result = (union pipe_query_result){ 0 };
	return ok && s->driver->get_query_result(s->pipe, q->query, true, result);
}

static void add_value(struct pctr_software *s, size_t *used, const char *name, uint64_t value,
		      const char *unit)
{
	int length = snprintf(s->text + *used, sizeof(s->text) - *used, "\n%s %" PRIu64 "%s%s",
			      name, value, *unit ? " " : "", unit);

	/* a value that does not fit is left out */
	if (length > 0 && (size_t)length < sizeof(s->text) - *used)
		*used += (size_t)length;
	s->text[*used] = '\0';
}

void pctr_software_draw(struct pctr_software *software, unsigned draws)
{
	software->draws += draws;
}

const char *pctr_software_end(struct pctr_software *software, bool is_complete)
{
	struct pctr_software *s = software;
	union pipe_query_result result;
	size_t used = 0;

	s->text[0] = '\0';
	if (s->counts_draws && is_complete)
		add_value(s, &used, "draw-calls", s->draws, "");
	s->draws = 0;
	for (unsigned n = 0; n < s->count; n++)
		if (end(s, &s->queries[n], &result))
			add_value(s, &used, s->queries[n].name, result.u64, s->queries[n].unit);
	if (!end(s, &s->statistics, &result))
		return s->text;
	for (unsigned n = 0; n < sizeof(statistics_names) / sizeof(statistics_names[0]); n++)
		add_value(s, &used, statistics_names[n].name,
			  *(const uint64_t *)((const char *)&result.pipeline_statistics +
					      statistics_names[n].offset),
			  "");
	return s->text;
}

void pctr_software_free(struct pctr_software *software)
{
	union pipe_query_result result;

	if (!software)
		return;
	for (unsigned n = 0; n < software->count; n++) {
		end(software, &software->queries[n], &result);
		software->driver->destroy_query(software->pipe, software->queries[n].query);
	}
	end(software, &software->statistics, &result);
	if (software->statistics.query)
		software->driver->destroy_query(software->pipe, software->statistics.query);
	free(software);
}
