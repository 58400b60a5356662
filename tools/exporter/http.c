// SPDX-License-Identifier: MIT
/* The scrapers: one answer is shared by all until the next sample, and no connection lasts. */
#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/number.h"
#include "exporter.h"

enum {
	/*
	 * The answer is shared, so a reader costs its request's memory. For one more than KEPT the
	 * oldest ends if it had PATIENCE_MS, so that slow readers keep nobody out; if there is no
	 * such one the new one is refused, with a text.
	 */
	MAX_CONNECTIONS = 512,
	KEPT = 400,
	REQUEST_BYTES = 16384,
	PATIENCE_MS = 2000,
	DEADLINE_MS = 10000,
	NAME_BYTES = 256, /* a name of DNS, with a final NUL */
};

static const char plain_type[] = "text/plain; version=0.0.4; charset=utf-8";
static const char open_type[] = "application/openmetrics-text; version=1.0.0; charset=utf-8";

struct connection {
	int fd; /* -1: unused */
	uint64_t since_ns;
	bool ended;
	bool is_refused;
};

struct http {
	struct exporter *exporter;
	struct MHD_Daemon *daemon;
	char listen_name[NAME_BYTES]; /* of --listen; empty: none */
	char machine_name[HOST_NAME_MAX + 1];
	/* plain and open, with and without clients, of the last sample; NULL: to be made */
	struct MHD_Response *answers[2][2];
	struct connection connections[MAX_CONNECTIONS];
};

static int fd_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

/* MHD notices the end and closes the connection. */
static void end(struct connection *c)
{
	shutdown(c->fd, SHUT_RDWR);
	c->ended = true;
}

static void on_connection(void *data, struct MHD_Connection *connection, void **mine,
			  enum MHD_ConnectionNotificationCode code)
{
	struct http *http = data;
	struct connection *oldest = NULL, *unused = NULL, *c = *mine;
	const uint64_t now_ns = perfctr_time_raw_ns();
	bool is_refused = false;
	size_t alive = 0;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		if (c)
			c->fd = -1;
		return;
	}
	for (c = http->connections; c < http->connections + MAX_CONNECTIONS; c++) {
		if (c->fd < 0) {
			unused = c;
		} else if (!c->ended && !c->is_refused) {
			alive++;
			if (!oldest || c->since_ns < oldest->since_ns)
				oldest = c;
		}
	}
	if (alive >= KEPT && now_ns - oldest->since_ns >= PATIENCE_MS * NS_PER_MS)
		end(oldest);
	else
		is_refused = alive >= KEPT;
	*mine = unused;
	if (unused)
		*unused = (struct connection){
			.fd = fd_of(connection),
			.since_ns = now_ns,
			.is_refused = is_refused,
		};
}

/* Return: a response that owns the text; NULL: no memory, the text was freed. */
static struct MHD_Response *new_response(char *text, const char *type)
{
	struct MHD_Response *r =
		text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) :
		       NULL;

	if (!r) {
		free(text);
		return NULL;
	}
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close");
	return r;
}

static char *metrics(struct exporter *e, bool open, bool clients)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int error = out ? text_write(out, e, open, clients) : -ENOMEM;

	if (!out || (!fclose(out) && !error))
		return text;
	free(text);
	return NULL;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned int status,
			      const char *text)
{
	struct MHD_Response *r = new_response(strdup(text), plain_type);
	enum MHD_Result result;

	if (r && status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "2");
	if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = r ? MHD_queue_response(connection, status, r) : MHD_NO;
	if (r)
		MHD_destroy_response(r);
	return result;
}

/* Name or address of "HOST", "HOST:PORT", "[ADDRESS]:PORT". Return: whether it is one of these. */
static bool read_host(const char *text, char *name)
{
	const bool bracket = *text == '[';
	const size_t length = strcspn(text + bracket, bracket ? "]" : ":");
	const char *end = text + bracket + length;
	uint64_t port;

	if (bracket && *end++ != ']')
		return false;
	if (*end && (*end != ':' || (end[1] && number_parse_count(end + 1, &port))))
		return false;
	if (!length || length >= NAME_BYTES)
		return false;
	memcpy(name, text + bracket, length);
	name[length] = '\0';
	/* the root of DNS may be there or not */
	if (!bracket && length > 1 && name[length - 1] == '.')
		name[length - 1] = '\0';
	return true;
}

/*
 * Whether a request is for this machine. A web page can make its own name point here and then read
 * the answers ("DNS rebinding"): its browser sends that name. Addresses cannot be made to.
 */
static bool is_for_us(const struct http *http, const char *host)
{
	const struct option_words *more = &http->exporter->host_names;
	struct in6_addr address;
	char name[NAME_BYTES];

	/* of HTTP/1.0, which no browser sends */
	if (!host)
		return true;
	if (!read_host(host, name))
		return false;
	if (inet_pton(*host == '[' ? AF_INET6 : AF_INET, name, &address) == 1)
		return true;
	for (size_t n = 0; n < more->count; n++)
		if (!strcasecmp(name, more->words[n]))
			return true;
	return !strcasecmp(name, "localhost") || !strcasecmp(name, http->listen_name) ||
	       !strcasecmp(name, http->machine_name);
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct http *http = data;
	const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept");
	bool open = accept && strcasestr(accept, "application/openmetrics-text");
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	const struct connection *c = info ? info->socket_context : NULL;
	struct MHD_Response **answer;
	bool clients = false;

	if (c && c->is_refused)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "perfctr exporter: too many scrapers at once, try again later\n");
	if (!is_for_us(http, MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host")))
		return refuse(connection, MHD_HTTP_MISDIRECTED_REQUEST,
			      "perfctr exporter: the Host of this request is not a name of this "
			      "machine; --host-name NAME adds one\n");
	if (strcmp(method, "GET") && strcmp(method, "HEAD"))
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "use GET\n");
	if (strcmp(url, "/metrics"))
		return refuse(connection, MHD_HTTP_NOT_FOUND,
			      "perfctr exporter: the counters are at /metrics\n");
	if (http->exporter->per_client)
		clients = viewers_include(http->exporter, fd_of(connection));
	answer = &http->answers[open][clients];
	if (!*answer)
		*answer = new_response(metrics(http->exporter, open, clients),
				       open ? open_type : plain_type);
	return *answer ? MHD_queue_response(connection, MHD_HTTP_OK, *answer) : MHD_NO;
}

int http_open(struct exporter *e)
{
	struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM },
			*info = NULL;
	const char *address = e->listen, *colon = strrchr(address, ':'), *reason;
	const bool bracket = *address == '[' && colon > address + 2 && colon[-1] == ']';
	struct http *http = calloc(1, sizeof(*http));
	uint64_t port;
	char *host;
	int error;

	if (!colon || number_parse_count(colon + 1, &port) || port > UINT16_MAX ||
	    (!bracket && strchr(address, ':') != colon)) {
		free(http);
		return app_usage(e->app, "--listen '%s': give HOST:PORT, [ADDRESS]:PORT or :PORT",
				 address);
	}
	if (!http)
		return app_failed(e->app, -ENOMEM);
	e->http = http;
	http->exporter = e;
	for (size_t n = 0; n < MAX_CONNECTIONS; n++)
		http->connections[n].fd = -1;
	host = http->listen_name;
	snprintf(host, sizeof(http->listen_name), "%.*s", (int)(colon - address) - 2 * bracket,
		 address + bracket);
	gethostname(http->machine_name, sizeof(http->machine_name) - 1);
	error = getaddrinfo(*host ? host : NULL, colon + 1, &hints, &info);
	reason = gai_strerror(error);
	if (!error) {
		http->daemon = MHD_start_daemon(
			MHD_USE_EPOLL | (info->ai_family == AF_INET6 ? MHD_USE_IPv6 : 0), 0, NULL,
			NULL, on_request, http, MHD_OPTION_SOCK_ADDR, info->ai_addr,
			MHD_OPTION_CONNECTION_LIMIT, (unsigned int)MAX_CONNECTIONS,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)REQUEST_BYTES,
			MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_END);
		reason = strerror(errno);
		freeaddrinfo(info);
	}
	if (!http->daemon) {
		app_error(e->app, "cannot listen at %s: %s", address, reason);
		return EXIT_FAILED;
	}
	app_error(e->app, "http://%s/metrics", address);
	return 0;
}

int http_fd(const struct http *http)
{
	return http ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd : -1;
}

int http_run(struct http *http)
{
	const uint64_t now = perfctr_time_raw_ns();
	struct connection *c = http->connections;
	MHD_UNSIGNED_LONG_LONG pending;
	int wait_ms = 1000;

	for (; c < http->connections + MAX_CONNECTIONS; c++) {
		if (c->fd >= 0 && !c->ended && now - c->since_ns >= DEADLINE_MS * NS_PER_MS)
			end(c);
	}
	MHD_run(http->daemon);
	if (MHD_get_timeout(http->daemon, &pending) == MHD_YES && pending < 1000)
		wait_ms = (int)pending;
	return wait_ms;
}

void http_refresh(struct http *http)
{
	for (size_t n = 0; n < 4; n++) {
		struct MHD_Response **answer = &http->answers[n / 2][n % 2];

		if (*answer)
			MHD_destroy_response(*answer);
		*answer = NULL;
	}
}

void http_free(struct http *http)
{
	if (!http)
		return;
	if (http->daemon)
		MHD_stop_daemon(http->daemon);
	http_refresh(http);
	free(http);
}
