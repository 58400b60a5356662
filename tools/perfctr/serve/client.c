// SPDX-License-Identifier: MIT
/*
 * The broker's side of the protocol in perfctr/broker.h.
 *
 * Requests are checked here against the policy, and by the kernel for everything else. Nothing is
 * read from memory that the client can write.
 */
#include "client.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <perfctr/broker.h>

#include "common/number.h"
#include "lib/device.h"
#include "session.h"

enum {
	CONTENT_BYTES = PERFCTR_BROKER_MAX_BYTES - sizeof(struct perfctr_broker_header),
	PATIENCE_S = 10, /* timeout for the first request, and for each reply to be received */
	REMAINS_MS = 250, /* interval of the check for memory that a client keeps */
	/* cost of a request, and the largest burst */
	REQUEST_NS = 1000000,
	BURST_NS = 100000000,
};

struct message {
	struct perfctr_broker_header header;
	unsigned char content[CONTENT_BYTES];
};

struct client {
	struct app *app;
	struct serve_log *log;
	const struct serve_rule *rule;
	const struct serve_peer *peer;
	int fd;
	struct perfctr_device *device;
	struct serve_sessions sessions;
	const struct serve_share *share;
	const char *broker; /* its socket, NULL: unknown */
	serve_open_fn open; /* of a hub, whose client it is; NULL: a process of its own */
	void *open_data;
	uint64_t allowed_ns; /* time up to which requests are covered: a token bucket */
	/* the request, then the reply to it */
	struct message message;
	size_t bytes;
};

/* --- messages --------------------------------------------------------------------- */

static int send_message(int fd, const void *bytes, size_t size, const int *files)
{
	union {
		char bytes[CMSG_SPACE(PERFCTR_BROKER_FILES * sizeof(int))];
		struct cmsghdr align;
	} control = { 0 };
	struct iovec io = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &io, .msg_iovlen = 1 };
	ssize_t done;

	if (files) {
		struct cmsghdr *c;

		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&message);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(PERFCTR_BROKER_FILES * sizeof(int));
		memcpy(CMSG_DATA(c), files, PERFCTR_BROKER_FILES * sizeof(int));
	}
	done = TEMP_FAILURE_RETRY(sendmsg(fd, &message, MSG_NOSIGNAL));
	return done < 0 ? -errno : 0;
}

void serve_client_refuse(int fd, int error, const char *text)
{
	struct {
		struct perfctr_broker_header header;
		char text[512];
	} m = { 0 };
	size_t length = strlen(text) < sizeof(m.text) ? strlen(text) : sizeof(m.text) - 1;

	memcpy(m.text, text, length);
	m.header = (struct perfctr_broker_header){
		.size = (uint32_t)(sizeof(m.header) + length + 1),
		.version = PERFCTR_BROKER_VERSION,
		.type = PERFCTR_BROKER_END,
		.error = error,
	};
	send_message(fd, &m, m.header.size, NULL);
	close(fd);
}

/* Replace the reply by an error and its reason. Return: error. */
static int __attribute__((format(printf, 3, 4)))
refuse(struct client *c, int error, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	c->bytes = strlen(text) + 1;
	memcpy(c->message.content, text, c->bytes);
	c->message.header.error = error;
	return error;
}

/* As refuse(), for what the policy forbids; the log line is for the administrator. */
static int __attribute__((format(printf, 2, 3))) forbid(struct client *c, const char *format, ...)
{
	char text[384];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	serve_log_line(c->log, "forbidden", c->peer, "%s", text);
	return refuse(c, -EACCES, "the broker's policy (rule %s) does not allow %s", c->rule->name,
		      text);
}

/* Return the kernel's error; the client's library explains it as for a direct call. */
static int kernel_refused(struct client *c, int error)
{
	c->bytes = 0;
	c->message.header.error = error;
	return error;
}

static void pause_ns(uint64_t ns)
{
	const struct timespec pause = { (time_t)(ns / NS_PER_S), (long)(ns % NS_PER_S) };

	if (ns)
		nanosleep(&pause, NULL);
}

/* A token bucket for requests of any kind: only this client waits. */
static void limit_requests(struct client *c)
{
	uint64_t now = perfctr_time_raw_ns();

	if (!c->share)
		return;
	if (c->allowed_ns + BURST_NS < now)
		c->allowed_ns = now - BURST_NS;
	c->allowed_ns += REQUEST_NS;
	if (c->allowed_ns > now)
		pause_ns(c->allowed_ns - now);
}

/* --- OPEN ------------------------------------------------------------------------- */

static bool entry_is(const struct perfctr_device_entry *e, const char *which)
{
	return !*which || !strcmp(e->path, which) || !strcmp(strrchr(e->path, '/') + 1, which) ||
	       !strcmp(e->driver, which) || !strcasecmp(e->name, which);
}

static bool may_use(const struct serve_rule *rule, const struct perfctr_device_entry *e)
{
	return serve_words_match(&rule->devices, strrchr(e->path, '/') + 1) ||
	       serve_words_match(&rule->devices, e->driver) ||
	       serve_words_match(&rule->devices, e->name);
}

/* Whether a process counts it, not the kernel's core: this one, or the hub. */
static bool is_hosted(const struct perfctr_device *device)
{
	return perfctr_device_fd(device) < 0;
}

/* Have the hub count what the driver gives to one file at a time. */
static int share_device(struct client *c)
{
	struct perfctr_device *shared;
	int error;

	if (!is_hosted(c->device) || device_is_local(c->device) || !c->broker)
		return 0;
	error = perfctr_device_open_broker(c->app->ctx, c->broker, perfctr_device_path(c->device),
					   &shared);
	if (error)
		return error;
	perfctr_device_unref(c->device);
	c->device = shared;
	return 0;
}

/* Only DRM nodes with counters, or perf's PMUs: no other file that the client names. */
static int open_device(struct client *c, const char *which)
{
	struct perfctr_device_list *list;
	bool found = false, open = false;
	int error = perfctr_device_list_new(c->app->ctx, &list);

	if (error)
		return refuse(c, error, "%s", perfctr_ctx_error(c->app->ctx));
	for (size_t n = 0; n < perfctr_device_list_count(list) && !open; n++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, n);

		/* one that sleeps is woken, and one whose use harms others is used, by name only */
		if ((e->error && (e->error != -EHOSTDOWN || !*which)) || !entry_is(e, which) ||
		    (e->by_name && !*which))
			continue;
		found = true;
		if (!may_use(c->rule, e))
			continue;
		error = perfctr_device_open(c->app->ctx, e->path, &c->device);
		if (!error)
			error = share_device(c);
		open = !error;
	}
	perfctr_device_list_unref(list);
	if (!open && !error && (!*which || !strcmp(which, PERFCTR_DEVICE_LOCAL))) {
		found = true;
		if (serve_words_match(&c->rule->devices, PERFCTR_DEVICE_LOCAL)) {
			error = perfctr_device_open(c->app->ctx, PERFCTR_DEVICE_LOCAL, &c->device);
			open = !error;
		}
	}
	if (open)
		return 0;
	if (error)
		return refuse(c, error, "%s", perfctr_ctx_error(c->app->ctx));
	if (found)
		return forbid(c, "%s%s", *which ? "device " : "any of the devices here", which);
	return refuse(c, -ENODEV, "the broker has no device%s%s that offers counters",
		      *which ? " " : "", which);
}

static int take_open(struct client *c)
{
	struct perfctr_broker_opened opened = { 0 };
	char which[sizeof(opened.path)];
	int error;

	if (c->device)
		return refuse(c, -EALREADY, "a device is open on this connection");
	if (!c->bytes || c->bytes > sizeof(which) || c->message.content[c->bytes - 1])
		return refuse(c, -EINVAL, "OPEN without the name of a device");
	memcpy(which, c->message.content, c->bytes);
	error = c->open ? c->open(c->open_data, which, &c->device) : open_device(c, which);
	if (error && c->open)
		refuse(c, error, "%s", perfctr_ctx_error(c->app->ctx));
	if (error)
		return error;
	c->sessions.device = c->device;
	snprintf(opened.path, sizeof(opened.path), "%s", perfctr_device_path(c->device));
	snprintf(opened.driver, sizeof(opened.driver), "%s", perfctr_device_driver(c->device));
	memcpy(c->message.content, &opened, sizeof(opened));
	c->bytes = sizeof(opened);
	serve_log_line(c->log, "open", c->peer, "%s (%s) by rule %s", opened.path, opened.driver,
		       c->rule->name);
	return 0;
}

/* --- QUERY ------------------------------------------------------------------------ */

static bool may_count(const struct serve_rule *rule, unsigned int type)
{
	const char *name = perfctr_block_type_name(type);

	if (type == DRM_PERFCTR_BLOCK_GENERIC_PMU)
		return rule->pmus.count != 0;
	return serve_words_match(&rule->blocks, name ? name : "unknown");
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static size_t block_count(const struct client *c)
{
	size_t count = 0;

	for (size_t n = 0; n < perfctr_device_block_count(c->device); n++)
		count += may_count(c->rule, perfctr_device_block(c->device, n)->type);
	return count;
}

/* The device as the client may use it: the policy's limits apply where they are tighter. */
static void query_device(struct client *c)
{
	struct drm_perfctr_device_info info = *perfctr_device_info(c->device);

	info.block_count = (uint32_t)block_count(c);
	/* the kernel has no limit and says 0, the local device has one */
	if (!info.max_sessions_per_file || info.max_sessions_per_file > c->rule->sessions)
		info.max_sessions_per_file = c->rule->sessions;
	info.max_ring_bytes = smaller(info.max_ring_bytes, c->rule->ring_bytes);
	info.min_period_ns = larger(info.min_period_ns, c->rule->min_period_ns);
	info.unprivileged_min_period_ns = info.min_period_ns;
	/* jobs need the DRM file, which the client does not get */
	info.features &= ~(uint32_t)DRM_PERFCTR_FEATURE_IN_STREAM;
	if (!c->rule->keep_awake)
		info.features &= ~(uint32_t)DRM_PERFCTR_FEATURE_KEEP_AWAKE;
	memcpy(c->message.content, &info, sizeof(info));
}

static void query_blocks(struct client *c, uint32_t first, uint32_t count)
{
	size_t at = 0;

	for (size_t n = 0; n < perfctr_device_block_count(c->device); n++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(c->device, n);

		if (!may_count(c->rule, b->type))
			continue;
		if (at >= first && at - first < count)
			memcpy(c->message.content + (at - first) * sizeof(*b), b, sizeof(*b));
		at++;
	}
}

static void query_clocks(struct client *c, uint32_t first, uint32_t count)
{
	for (size_t n = 0; n < count; n++)
		memcpy(c->message.content + n * sizeof(struct drm_perfctr_clock_info),
		       perfctr_device_clock(c->device, first + n),
		       sizeof(struct drm_perfctr_clock_info));
}

static int take_query(struct client *c)
{
	struct perfctr_broker_header *h = &c->message.header;
	size_t total, stride;
	uint32_t count = 0;
	int error;

	switch (h->code) {
	case DRM_PERFCTR_QUERY_DEVICE:
		total = 1;
		stride = sizeof(struct drm_perfctr_device_info);
		break;
	case DRM_PERFCTR_QUERY_BLOCKS:
		total = block_count(c);
		stride = sizeof(struct drm_perfctr_block_info);
		break;
	case DRM_PERFCTR_QUERY_CLOCKS:
		error = perfctr_device_refresh(c->device);
		if (error)
			return kernel_refused(c, error);
		total = perfctr_device_clock_count(c->device);
		stride = sizeof(struct drm_perfctr_clock_info);
		break;
	default:
		return refuse(c, -EINVAL, "unknown query %u", h->code);
	}
	if (h->first < total)
		count = (uint32_t)smaller(smaller(h->count, total - h->first),
					  CONTENT_BYTES / stride);
	if (count && h->code == DRM_PERFCTR_QUERY_DEVICE)
		query_device(c);
	else if (count && h->code == DRM_PERFCTR_QUERY_BLOCKS)
		query_blocks(c, h->first, count);
	else if (count)
		query_clocks(c, h->first, count);
	h->first = (uint32_t)total;
	h->count = count;
	h->stride = (uint32_t)stride;
	c->bytes = count * stride;
	return 0;
}

/* --- sessions ---------------------------------------------------------------------- */

static bool pmu_type_is(const char *pmu, uint32_t type)
{
	char path[320];
	long number;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s/type", pmu);
	return !app_read_number(path, &number) && number >= 0 && (uint32_t)number == type;
}

/* Requests have the number of a perf PMU, the policy has names. */
static int check_pmu(struct client *c, uint32_t type)
{
	DIR *dir = opendir("/sys/bus/event_source/devices");
	struct dirent *entry;
	char name[NAME_MAX + 1];
	bool may = false;

	snprintf(name, sizeof(name), "number %u", type);
	while (dir && !may && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.' || !pmu_type_is(entry->d_name, type))
			continue;
		snprintf(name, sizeof(name), "%s", entry->d_name);
		may = serve_words_match(&c->rule->pmus, name);
	}
	if (dir)
		closedir(dir);
	return may ? 0 : forbid(c, "perf PMU %s", name);
}

static int check_request(struct client *c, const struct drm_perfctr_block_request *r)
{
	const char *name = perfctr_block_type_name(r->type);

	/* a process that counts takes the PMU's number for any type of block */
	if (r->type == DRM_PERFCTR_BLOCK_GENERIC_PMU ||
	    (is_hosted(c->device) && r->flags & DRM_PERFCTR_REQUEST_PMU))
		return c->open ? 0 : check_pmu(c, r->pmu_type);
	if (!may_count(c->rule, r->type))
		return forbid(c, "block type %s (%u)", name ? name : "unknown", r->type);
	return 0;
}

static int check_open(struct client *c, const struct drm_perfctr_open *s,
		      const struct drm_perfctr_block_request *requests)
{
	char period[32], least[32];
	uint64_t counters = 0;

	for (uint32_t n = 0; n < s->request_count; n++) {
		int error = check_request(c, &requests[n]);

		if (error)
			return error;
		if (requests[n].flags & DRM_PERFCTR_REQUEST_PMU)
			counters += (unsigned int)__builtin_popcountll(requests[n].mask);
	}
	/* each takes files of the process that counts */
	if (is_hosted(c->device) && counters > c->rule->counters)
		return refuse(c, -E2BIG,
			      "the broker's policy (rule %s) allows %u counter%s of perf PMUs in a "
			      "session, not %llu",
			      c->rule->name, c->rule->counters, plural(c->rule->counters),
			      (unsigned long long)counters);
	if (s->period_ns && s->period_ns < c->rule->min_period_ns)
		return forbid(c, "a period of %s, the shortest is %s",
			      number_seconds((double)s->period_ns * 1e-9, period, sizeof(period)),
			      number_seconds((double)c->rule->min_period_ns * 1e-9, least,
					     sizeof(least)));
	if (s->flags & DRM_PERFCTR_OPEN_KEEP_AWAKE && !c->rule->keep_awake)
		return forbid(c, "to keep the GPU awake");
	return 0;
}

static int check_limits(struct client *c, const struct drm_perfctr_layout *layout)
{
	uint64_t bytes, ring_bytes = layout->map_bytes;

	if (serve_sessions_use(&c->sessions, &bytes) >= c->rule->sessions)
		return refuse(c, -ENOSPC,
			      "the broker's policy (rule %s) allows %u session%s at a time",
			      c->rule->name, c->rule->sessions, plural(c->rule->sessions));
	if (ring_bytes > c->rule->ring_bytes || bytes > c->rule->ring_bytes - ring_bytes)
		return refuse(c, -ERANGE,
			      "the broker's policy (rule %s) allows rings of %llu bytes in all",
			      c->rule->name, (unsigned long long)c->rule->ring_bytes);
	return 0;
}

static bool is_zero(const unsigned char *bytes, size_t size)
{
	while (size && !bytes[size - 1])
		size--;
	return !size;
}

/* Return: 0 with a checked copy of the requests, out of the client's reach. */
static int read_open(struct client *c, struct drm_perfctr_open *s,
		     struct drm_perfctr_block_request **requests)
{
	const struct perfctr_broker_header *h = &c->message.header;
	const unsigned char *from = c->message.content;
	size_t open_bytes;

	if (!h->count || h->stride < sizeof(**requests) || c->bytes / h->stride < h->count ||
	    c->bytes - (size_t)h->count * h->stride < sizeof(*s))
		return refuse(c, -EINVAL, "SESSION without its requests");
	/* the requests follow the structure, which may have grown */
	open_bytes = c->bytes - (size_t)h->count * h->stride;
	if (!is_zero(from + sizeof(*s), open_bytes - sizeof(*s)))
		return refuse(c, -E2BIG, "SESSION with members that the broker does not know");
	memcpy(s, from, sizeof(*s));
	from += open_bytes;
	if (s->eventfd != -1 || s->requests || s->layout || s->layout_size)
		return refuse(c, -EINVAL,
			      "SESSION names an eventfd or addresses, which are the "
			      "broker's");
	*requests = malloc(h->count * sizeof(**requests));
	if (!*requests)
		return refuse(c, -ENOMEM, "the broker is out of memory");
	for (uint32_t n = 0; n < h->count; n++, from += h->stride) {
		memcpy(&(*requests)[n], from, sizeof(**requests));
		if (is_zero(from + sizeof(**requests), h->stride - sizeof(**requests)))
			continue;
		free(*requests);
		*requests = NULL;
		return refuse(c, -E2BIG, "requests with members that the broker does not know");
	}
	s->requests = (uintptr_t)*requests;
	s->request_count = h->count;
	s->request_stride = sizeof(**requests);
	return 0;
}

/* The files for the client; the caller closes them. */
static int give_files(struct client *c, const struct serve_session *session, int *files)
{
	int error;

	files[0] = perfctr_session_reader(session->session);
	if (files[0] < 0)
		return refuse(c, files[0], "%s", perfctr_ctx_error(c->app->ctx));
	files[1] = dup(perfctr_session_eventfd(session->session));
	if (files[1] >= 0)
		return 0;
	error = -errno;
	close(files[0]);
	files[0] = -1;
	return kernel_refused(c, error);
}

static void end_period(struct client *c, uint64_t period_ns)
{
	if (c->share)
		serve_share_end_period(c->share, period_ns);
}

static int create_session(struct client *c, const struct drm_perfctr_open *open,
			  struct drm_perfctr_layout *layout, int *files)
{
	struct serve_session *session;
	char text[32];
	int error;

	if (c->share && !serve_share_add_period(c->share, open->period_ns, c->rule->min_period_ns))
		return refuse(
			c, -EDQUOT,
			"the broker's policy (rule %s) allows all sessions of a user together "
			"%d samples each %s",
			c->rule->name, SERVE_USER_SESSIONS,
			number_seconds((double)c->rule->min_period_ns * 1e-9, text, sizeof(text)));
	session = serve_sessions_open(&c->sessions, open, layout, &error);
	if (!session) {
		end_period(c, open->period_ns);
		return kernel_refused(c, error);
	}
	error = give_files(c, session, files);
	if (error) {
		end_period(c, open->period_ns);
		serve_sessions_close(&c->sessions, session);
		return error;
	}
	c->message.header.handle = session->handle;
	serve_log_line(c->log, "session", c->peer,
		       "session %u: %u block%s, period %llu ns, ring of %u bytes", session->handle,
		       layout->block_count, plural(layout->block_count),
		       (unsigned long long)open->period_ns, layout->map_bytes);
	return 0;
}

static int take_session(struct client *c, int *files)
{
	struct drm_perfctr_block_request *requests = NULL;
	struct perfctr_session *none;
	struct drm_perfctr_layout layout;
	struct drm_perfctr_open open, check;
	int error = read_open(c, &open, &requests);

	if (error)
		return error;
	error = check_open(c, &open, requests);
	if (!error) {
		/* the kernel reports the size before it creates the session */
		check = open;
		check.flags |= DRM_PERFCTR_OPEN_CHECK;
		error = perfctr_session_new_raw(c->device, &check, &layout, &none);
		if (error)
			kernel_refused(c, error);
		else
			error = check_limits(c, &layout);
	}
	if (!error && !(open.flags & DRM_PERFCTR_OPEN_CHECK))
		error = create_session(c, &open, &layout, files);
	free(requests);
	if (error)
		return error;
	memcpy(c->message.content, &layout, sizeof(layout));
	c->bytes = sizeof(layout);
	c->message.header.count = 0;
	c->message.header.stride = 0;
	return 0;
}

static int take_close(struct client *c, struct serve_session *session)
{
	serve_log_line(c->log, "close", c->peer, "session %u ends", session->handle);
	end_period(c, session->period_ns);
	serve_sessions_close(&c->sessions, session);
	serve_sessions_use(&c->sessions, NULL);
	c->bytes = 0;
	return 0;
}

static int take_status(struct client *c, struct serve_session *session)
{
	struct drm_perfctr_status status;
	int error = perfctr_session_status(session->session, &status, sizeof(status));

	if (error)
		return kernel_refused(c, error);
	memcpy(c->message.content, &status, sizeof(status));
	c->bytes = sizeof(status);
	return 0;
}

static int take_command(struct client *c, struct serve_session *session)
{
	struct drm_perfctr_command command;
	int error;

	if (c->bytes < sizeof(command))
		return refuse(c, -EINVAL, "a command without its structure");
	memcpy(&command, c->message.content, sizeof(command));
	if (command.flags || command.pad)
		return refuse(c, -EINVAL, "a command with flags that the broker does not know");
	if (!is_zero(c->message.content + sizeof(command), c->bytes - sizeof(command)))
		return refuse(c, -E2BIG, "a command with members that the broker does not know");
	/* commands to the hardware share the sample rate of all clients of a user */
	if (c->share)
		pause_ns(serve_share_wait_ns(c->share, perfctr_time_raw_ns(),
					     c->rule->min_period_ns));
	if (c->message.header.type == PERFCTR_BROKER_START)
		error = perfctr_session_start(session->session, command.user_data);
	else if (c->message.header.type == PERFCTR_BROKER_STOP)
		error = perfctr_session_stop(session->session, command.user_data);
	else
		error = perfctr_session_sample(session->session, command.user_data);
	c->bytes = 0;
	return error ? kernel_refused(c, error) : 0;
}

static int take_session_request(struct client *c)
{
	struct serve_session *session = serve_sessions_find(&c->sessions, c->message.header.handle);

	if (!session)
		return kernel_refused(c, -ENOENT);
	switch (c->message.header.type) {
	case PERFCTR_BROKER_CLOSE:
		return take_close(c, session);
	case PERFCTR_BROKER_STATUS:
		return take_status(c, session);
	default:
		return take_command(c, session);
	}
}

/* --- the connection --------------------------------------------------------------- */

/* Answer the request. Return: 0; a negative errno: close the connection. */
static int answer(struct client *c)
{
	struct perfctr_broker_header *h = &c->message.header;
	int files[PERFCTR_BROKER_FILES] = { -1, -1 };
	int error;

	limit_requests(c);
	h->error = 0;
	if (h->type == PERFCTR_BROKER_OPEN)
		error = take_open(c);
	else if (!c->device)
		error = refuse(c, -EINVAL, "OPEN must come first");
	else if (h->type == PERFCTR_BROKER_QUERY)
		error = take_query(c);
	else if (h->type == PERFCTR_BROKER_SESSION)
		error = take_session(c, files);
	else if (h->type > PERFCTR_BROKER_SESSION && h->type <= PERFCTR_BROKER_CLOSE)
		error = take_session_request(c);
	else
		error = refuse(c, -EINVAL, "unknown request %u", h->type);
	h->size = (uint32_t)(sizeof(*h) + c->bytes);
	error = send_message(c->fd, &c->message, h->size, files[0] < 0 ? NULL : files);
	for (size_t n = 0; n < PERFCTR_BROKER_FILES; n++)
		if (files[n] >= 0)
			close(files[n]);
	if (error == -EAGAIN)
		serve_log_line(c->log, "slow", c->peer, "does not take its replies");
	return error;
}

/* Return: 1 a request; 0 the end; a negative errno, logged: a malformed request. */
static int receive_request(struct client *c)
{
	const struct perfctr_broker_header *h = &c->message.header;
	struct pollfd p = { .fd = c->fd, .events = POLLIN };
	ssize_t got;

	/* a client with an open device may be silent while it counts */
	if (!c->device && !poll(&p, 1, PATIENCE_S * 1000)) {
		serve_log_line(c->log, "silent", c->peer, "no request within %d s", PATIENCE_S);
		return 0;
	}
	do {
		got = recv(c->fd, &c->message, sizeof(c->message), MSG_TRUNC);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	if (got <= 0)
		return 0;
	if ((size_t)got < sizeof(*h) || (size_t)got > sizeof(c->message) ||
	    h->size != (size_t)got || h->version != PERFCTR_BROKER_VERSION) {
		serve_log_line(c->log, "malformed", c->peer, "%zd bytes that are no request", got);
		return -EPROTO;
	}
	c->bytes = (size_t)got - sizeof(*h);
	return 1;
}

/* A client occupies its slot as long as it keeps memory of the broker. */
static void wait_for_remains(struct client *c)
{
	const struct timespec pause = { 0, REMAINS_MS * (long)NS_PER_MS };
	bool refused = false;

	while (serve_sessions_use(&c->sessions, NULL)) {
		if (!refused)
			serve_log_line(c->log, "remains", c->peer, "%zu ring%s still mapped",
				       c->sessions.count, c->sessions.count == 1 ? " is" : "s are");
		refused = true;
		nanosleep(&pause, NULL);
	}
}

struct client *serve_client_new(struct app *app, struct serve_log *log,
				const struct serve_rule *rule, const struct serve_peer *peer,
				const struct serve_share *share, int fd)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };
	struct client *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->app = app;
	c->log = log;
	c->rule = rule;
	c->peer = peer;
	c->share = share;
	c->fd = fd;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return c;
}

void serve_client_set_open(struct client *client, serve_open_fn open, void *data)
{
	client->open = open;
	client->open_data = data;
}

bool serve_client_take(struct client *client)
{
	return receive_request(client) > 0 && !answer(client);
}

const struct perfctr_device *serve_client_device(const struct client *client)
{
	return client->device;
}

static void end_sessions(struct client *c)
{
	for (size_t n = 0; n < c->sessions.count; n++)
		if (c->sessions.list[n].handle) {
			end_period(c, c->sessions.list[n].period_ns);
			serve_sessions_close(&c->sessions, &c->sessions.list[n]);
		}
}

void serve_client_end(struct client *client)
{
	close(client->fd);
	end_sessions(client);
	serve_sessions_use(&client->sessions, NULL);
	perfctr_device_unref(client->device);
	free(client->sessions.list);
	free(client);
}

void serve_client_run(struct app *app, struct serve_log *log, const struct serve_rule *rule,
		      const struct serve_peer *peer, const struct serve_share *share,
		      const char *broker, int fd)
{
	struct client *c = serve_client_new(app, log, rule, peer, share, fd);
	int result;

	if (!c) {
		serve_client_refuse(fd, -ENOMEM, "the broker is out of memory");
		return;
	}
	c->broker = broker;
	do {
		result = receive_request(c);
		if (result > 0 && answer(c))
			result = 0;
	} while (result > 0);
	if (result < 0)
		serve_client_refuse(fd, result, "this is no request of the broker's protocol");
	else
		close(fd);

	end_sessions(c);
	wait_for_remains(c);
	perfctr_device_unref(c->device);
	serve_log_line(log, "end", peer, "connection ended");
	free(c->sessions.list);
	free(c);
}
