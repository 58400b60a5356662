// SPDX-License-Identifier: MIT
/* perfctr info: describe a device and what this user may do with it. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <perfctr/broker.h>

#include "commands.h"
#include "lib/device.h"
#include "clients.h"
#include "lib/output.h"
#include "common/number.h"
#include "lib/json.h"
#include "lib/option.h"
#include "lib/permission.h"

static const char help[] =
	"usage: perfctr info [-j] [-d DEVICE]\n"
	"\n"
	"Lists the DRM nodes that offer counters; of each that does: blocks, clocks, limits,\n"
	"what this user may do, and which processes have sessions (root sees all).\n"
	"\n"
	"  -d, --device DEVICE  node (/dev/dri/renderD128, renderD128), driver or name\n"
	"      --via SOCKET     the device as the broker (perfctr serve) there shows it\n"
	"  -j, --json           as JSON\n"
	"\n"
	"Exit: 0 a device offers counters, 1 error, 2 usage, 3 not permitted, 4 no device.\n";

static const struct {
	uint32_t bit;
	const char *name;
	const char *text;
} features[] = {
	{ .bit = DRM_PERFCTR_FEATURE_PERIODIC, .name = "periodic", .text = "periodic sampling" },
	{ .bit = DRM_PERFCTR_FEATURE_STATES, .name = "states", .text = "power states of blocks" },
	{ .bit = DRM_PERFCTR_FEATURE_AUTOMATIC,
	  .name = "automatic",
	  .text = "samples on power transitions" },
	{ .bit = DRM_PERFCTR_FEATURE_PMU, .name = "pmu", .text = "perf PMUs in the same sample" },
	{ .bit = DRM_PERFCTR_FEATURE_IN_STREAM,
	  .name = "in_stream",
	  .text = "samples inside of jobs" },
	{ .bit = DRM_PERFCTR_FEATURE_KEEP_AWAKE,
	  .name = "keep_awake",
	  .text = "keeping the GPU powered while counting" },
	{ .bit = DRM_PERFCTR_FEATURE_GPU_TIMESTAMP,
	  .name = "gpu_timestamp",
	  .text = "the GPU's own time in each sample" },
};

static const char *const set_names[] = { "primary", "secondary", "tertiary" };

static unsigned int available_counters(const struct drm_perfctr_block_info *b)
{
	unsigned int count = 0;

	for (int i = 0; i < DRM_PERFCTR_BLOCK_INFO_SECTIONS; i++)
		count += (unsigned int)__builtin_popcountll(b->available[i]);
	return count;
}

static const char *clock_name(const struct perfctr_device *device, uint32_t clock)
{
	for (size_t i = 0; i < perfctr_device_clock_count(device); i++)
		if (perfctr_device_clock(device, i)->clock == clock)
			return perfctr_device_clock(device, i)->name;
	return NULL;
}

enum { LINE_INDENT = 4 };

/* --- text ----------------------------------------------------------------- */

/* Blocks of one type and clock share a line: only their index differs. */
static size_t print_blocks(FILE *out, const struct perfctr_device *device, size_t first)
{
	const struct drm_perfctr_block_info *b = perfctr_device_block(device, first);
	const char *clock = clock_name(device, b->clock);
	size_t n = first;
	char type[64], label[64];

	perfctr_block_label(b->type, DRM_PERFCTR_INDEX_ALL, type, sizeof(type));
	if (b->index == DRM_PERFCTR_INDEX_ALL) {
		fprintf(out, "  %-12s any perf PMU of the machine, see perfctr list\n", type);
		return first + 1;
	}
	fprintf(out, "  %-12s %3u counters", type, available_counters(b));
	if (clock)
		fprintf(out, ", clock %s", clock);
	fputs(", ", out);
	for (; n < perfctr_device_block_count(device); n++) {
		const struct drm_perfctr_block_info *next = perfctr_device_block(device, n);

		if (next->type != b->type || next->clock != b->clock)
			break;
		perfctr_block_label(next->type, next->index, label, sizeof(label));
		fprintf(out, "%s%s", n == first ? "" : " ", label);
	}
	fputc('\n', out);
	return n;
}

static void print_period(FILE *out, const char *what, uint64_t ns)
{
	char text[32];

	if (ns >= 3600 * NS_PER_S)
		fprintf(out, "%s%g h", what, (double)ns * 1e-9 / 3600);
	else
		fprintf(out, "%s%s", what, number_seconds((double)ns * 1e-9, text, sizeof(text)));
}

static const char *set_name(int set)
{
	return set >= 0 && set < (int)ARRAY_SIZE(set_names) ? set_names[set] : "?";
}

/* A session that gets -EBUSY conflicts with one of these. */
static void print_clients(FILE *out, const struct clients *clients)
{
	fprintf(out, " sessions:%s\n",
		clients->count || clients->unseen ? "" :
		!clients->hidden		  ? " none" :
		geteuid()			  ? " none that this user may see; root sees all" :
						    " not known of this driver");
	for (size_t i = 0; i < clients->count; i++) {
		const struct client *c = &clients->list[i];
		const struct passwd *user = getpwuid(c->uid);

		fprintf(out, "  pid %d (%s) of ", (int)c->pid, c->command);
		if (user)
			fputs(user->pw_name, out);
		else
			fprintf(out, "uid %u", c->uid);
		fprintf(out, ", fd %d: %u, of them active %u; rings %" PRIu64 " KiB", c->fd,
			c->sessions, c->active, c->kib);
		if (c->set != CLIENT_NO_SET)
			fprintf(out, "; uses counter set %d (%s)", c->set, set_name(c->set));
		fputc('\n', out);
	}
	if (clients->count && clients->hidden)
		fputs("  and perhaps others', which root sees\n", out);
	if (clients->unseen)
		fprintf(out, "  %u that no process has a descriptor of: see %s\n", clients->unseen,
			clients->kernel_list);
}

static void print_device(FILE *out, const struct perfctr_device *device,
			 const struct permission *permission, const struct clients *clients)
{
	const struct drm_perfctr_device_info *info = perfctr_device_info(device);
	const char *product = perfctr_product_name(info->product);
	char text[64];
	int n = 0;

	fprintf(out, "%s: %s (driver %s%s%s", perfctr_device_path(device), info->name,
		perfctr_device_driver(device), product ? ", counters of " : "",
		product ? product : "");
	if (info->gpu_id)
		fprintf(out, ", GPU id 0x%" PRIx64, (uint64_t)info->gpu_id);
	/* perf events of this machine need no kernel interface of ours */
	if (info->version)
		fprintf(out, "), interface version %u\n blocks:\n", info->version);
	else
		fputs(")\n blocks:\n", out);
	for (size_t i = 0; i < perfctr_device_block_count(device);)
		i = print_blocks(out, device, i);

	if (perfctr_device_clock_count(device))
		fputs(" clocks:\n", out);
	for (size_t i = 0; i < perfctr_device_clock_count(device); i++) {
		const struct drm_perfctr_clock_info *c = perfctr_device_clock(device, i);

		if (c->clock == DRM_PERFCTR_CLOCK_TIMESTAMP) {
			fprintf(out, "  %-12s %sHz, %u bits, the GPU's own time\n", c->name,
				number_short((double)c->frequency_hz, text, sizeof(text)),
				c->valid_bits);
			continue;
		}
		fprintf(out, "  %-12s ", c->name);
		if (c->frequency_hz)
			fprintf(out, "%sHz now",
				number_short((double)c->frequency_hz, text, sizeof(text)));
		else
			fputs("frequency unknown", out);
		if (c->max_frequency_hz)
			fprintf(out, ", at most %sHz",
				number_short((double)c->max_frequency_hz, text, sizeof(text)));
		fputc('\n', out);
	}

	fputs(" can do:\n", out);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		if (info->features & features[i].bit)
			fprintf(out, "  %-12s %s\n", features[i].name, features[i].text);
	fputs(" counter sets:", out);
	for (unsigned int i = 0; i < ARRAY_SIZE(set_names); i++)
		if (info->sets >> i & 1)
			fprintf(out, "%s %s%s", n++ ? "," : "", set_names[i],
				i == info->active_set ? " (active)" : "");
	fputs("\n limits: ", out);
	print_period(out, "period ", info->min_period_ns);
	print_period(out, " to ", info->max_period_ns);
	print_period(out, " (at least ", info->unprivileged_min_period_ns);
	fprintf(out, " without CAP_PERFMON), %u slots, ring of %sB", info->max_slots,
		number_short((double)info->max_ring_bytes, text, sizeof(text)));
	/* a broker's or the local device's; the kernel has none */
	if (info->max_sessions_per_file)
		fprintf(out, ", %u session%s", info->max_sessions_per_file,
			plural(info->max_sessions_per_file));
	fprintf(out, "\n this user: %s\n", permission->text);
	if (*permission->fix)
		fprintf(out, "  to change that: %s\n", permission->fix);
	print_clients(out, clients);
}

/* Print at the terminal's width, with continuation lines indented below the text. */
static void print_fitting(FILE *out, const struct perfctr_device *device,
			  const struct permission *permission, const struct clients *clients)
{
	const int columns = terminal_columns(out, INT_MAX);
	char *text = NULL, *line, *end;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	print_device(memory, device, permission, clients);
	fclose(memory);
	for (line = text; text && *line; line = end + 1) {
		const int indent = (int)strspn(line, " ");

		end = strchr(line, '\n');
		*end = '\0';
		fprintf(out, "%*s", indent, "");
		columns_wrap(out, line + indent, indent ? indent : COLUMNS_UNINDENTED,
			     indent + LINE_INDENT, columns);
	}
	free(text);
}

/* --- JSON ----------------------------------------------------------------- */

static struct json_object *json_blocks(const struct perfctr_device *device)
{
	struct json_object *blocks = json_object_new_array();

	for (size_t i = 0; i < perfctr_device_block_count(device); i++) {
		const struct drm_perfctr_block_info *b = perfctr_device_block(device, i);
		struct json_object *block = json_append(blocks);
		char label[64];

		perfctr_block_label(b->type, b->index, label, sizeof(label));
		json_add_text(block, "block", label);
		json_add_text(block, "type", perfctr_block_type_name(b->type));
		json_add_u64(block, "type_number", b->type);
		json_add_known(block, "index", b->index != DRM_PERFCTR_INDEX_ALL, b->index);
		json_add_text(block, "product", perfctr_product_name(b->product));
		json_add_u64(block, "positions", b->counters);
		json_add_u64(block, "counters", available_counters(b));
		json_add_u64(block, "sets", b->sets);
		json_add_text(block, "clock", clock_name(device, b->clock));
	}
	return blocks;
}

static struct json_object *json_clocks(const struct perfctr_device *device)
{
	struct json_object *clocks = json_object_new_array();

	for (size_t i = 0; i < perfctr_device_clock_count(device); i++) {
		const struct drm_perfctr_clock_info *c = perfctr_device_clock(device, i);
		struct json_object *clock = json_append(clocks);

		json_add_text(clock, "clock", c->name);
		json_add_u64(clock, "frequency_hz", c->frequency_hz);
		json_add_u64(clock, "max_frequency_hz", c->max_frequency_hz);
		if (c->clock == DRM_PERFCTR_CLOCK_TIMESTAMP) {
			json_add_u64(clock, "valid_bits", c->valid_bits);
			json_add_u64(clock, "epoch", c->epoch);
			json_add_u64(clock, "gpu_timestamp", c->gpu_timestamp);
			json_add_u64(clock, "raw_ns", c->raw_ns);
			json_add_u64(clock, "age_ns", c->age_ns);
		}
	}
	return clocks;
}

static struct json_object *json_clients(const struct clients *clients)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < clients->count; i++) {
		const struct client *c = &clients->list[i];
		struct json_object *client = json_append(array);

		json_add_u64(client, "pid", (uint64_t)c->pid);
		json_add_text(client, "command", c->command);
		json_add_u64(client, "uid", c->uid);
		json_add_u64(client, "fd", (uint64_t)c->fd);
		json_add_u64(client, "sessions", c->sessions);
		json_add_u64(client, "active", c->active);
		json_add_u64(client, "buffers_kib", c->kib);
		json_add_known(client, "set", c->set != CLIENT_NO_SET, (uint64_t)c->set);
	}
	return array;
}

static struct json_object *json_device(const struct perfctr_device *device,
				       const struct permission *permission,
				       const struct clients *clients)
{
	const struct drm_perfctr_device_info *info = perfctr_device_info(device);
	struct json_object *root = json_object_new_object();
	struct json_object *flags = json_object_new_object();
	struct json_object *limits = json_object_new_object();
	struct json_object *user = json_object_new_object();

	json_add_text(root, "path", perfctr_device_path(device));
	json_add_text(root, "driver", perfctr_device_driver(device));
	json_add_text(root, "name", info->name);
	json_add_text(root, "product", perfctr_product_name(info->product));
	json_add_u64(root, "gpu_id", info->gpu_id);
	json_add_known(root, "version", info->version, info->version);
	for (size_t i = 0; i < ARRAY_SIZE(features); i++)
		json_add_bool(flags, features[i].name, info->features & features[i].bit);
	json_add(root, "features", flags);
	json_add_u64(root, "sets", info->sets);
	json_add_u64(root, "active_set", info->active_set);
	json_add_u64(limits, "min_period_ns", info->min_period_ns);
	json_add_u64(limits, "unprivileged_min_period_ns", info->unprivileged_min_period_ns);
	json_add_u64(limits, "max_period_ns", info->max_period_ns);
	json_add_u64(limits, "max_slots", info->max_slots);
	json_add_u64(limits, "max_ring_bytes", info->max_ring_bytes);
	json_add_u64(limits, "max_sessions_per_file", info->max_sessions_per_file);
	json_add_u64(limits, "max_requests", info->max_requests);
	json_add(root, "limits", limits);
	json_add(root, "clocks", json_clocks(device));
	json_add(root, "blocks", json_blocks(device));
	json_add_bool(user, "may_count", permission->may_count);
	json_add_bool(user, "cap_perfmon", permission->cap_perfmon);
	json_add_text(user, "text", permission->text);
	json_add_text(user, "fix", *permission->fix ? permission->fix : NULL);
	json_add(root, "this_user", user);
	json_add(root, "clients", json_clients(clients));
	json_add_bool(root, "clients_hidden", clients->hidden);
	json_add_u64(root, "sessions_unseen", clients->unseen);
	return root;
}

/* --- all nodes ------------------------------------------------------------ */

static int show_one(struct app *app, const char *which, struct json_object *array)
{
	struct perfctr_device *device;
	struct permission permission;
	struct clients clients;
	int status = device_open_to_look(app, which, false, &device);

	if (status)
		return status;
	permission_of(app, device, &permission);
	/* a broker's device may have no node here */
	if (clients_find(perfctr_device_path(device), &clients))
		clients.hidden = !device_is_local(device);
	if (array)
		json_object_array_add(array, json_device(device, &permission, &clients));
	else
		print_fitting(app->out, device, &permission, &clients);
	clients_free(&clients);
	perfctr_device_unref(device);
	return EXIT_FINE;
}

static int show_all(struct app *app, struct json_object *array, struct json_object *others)
{
	struct perfctr_device_list *list;
	int error = perfctr_device_list_new(app->ctx, &list);
	int status = EXIT_NO_DEVICE;

	if (error)
		return app_failed(app, error);
	for (size_t i = 0; i < perfctr_device_list_count(list); i++) {
		const struct perfctr_device_entry *e = perfctr_device_list_get(list, i);

		if (!e->error) {
			int shown = show_one(app, e->path, array);

			if (status != EXIT_FINE)
				status = shown;
			continue;
		}
		if (e->error == -EACCES && status == EXIT_NO_DEVICE)
			status = EXIT_DENIED;
		if (others) {
			struct json_object *node = json_append(others);

			json_add_text(node, "path", e->path);
			json_add_text(node, "driver", e->driver);
			json_add_text(node, "reason", permission_entry_text(e));
		} else {
			fprintf(app->out, "%s: %s%s%s: %s%s\n", e->path,
				*e->driver ? "driver " : "", e->driver, *e->driver ? "" : "unknown",
				e->error == -EHOSTDOWN ? "" : "no counters: ",
				permission_entry_text(e));
		}
	}
	/* as all commands choose: without the counter core no DRM node has counters */
	if (status == EXIT_NO_DEVICE || (status == EXIT_DENIED && access(PARANOID_PATH, F_OK)))
		status = show_one(app, PERFCTR_DEVICE_LOCAL, array);
	if (status != EXIT_FINE && !array)
		fprintf(app->err, "no device offers counters; perfctr check shows what helps\n");
	perfctr_device_list_unref(list);
	return status;
}

/* --- root complexes --------------------------------------------------------- */

struct ports {
	struct app *app;
	struct json_object *array;
	bool any;
};

static int show_port(void *data, const struct perfctr_pcie_port *port)
{
	struct ports *ports = data;
	struct json_object *o;

	if (!ports->array) {
		if (!ports->any)
			fprintf(ports->app->out,
				"PCIe root ports (lspci's address: block, root port)\n");
		ports->any = true;
		fprintf(ports->app->out,
			"  %-14s pcie%u_rc%u, pcie_tgt%u_rc%u: rp %u, segment %04x, bus %02x\n",
			port->address, port->socket, port->root_complex, port->socket,
			port->root_complex, port->root_port, port->segment, port->bus);
		return 0;
	}
	o = json_append(ports->array);
	json_add_text(o, "address", port->address);
	json_add_u64(o, "socket", port->socket);
	json_add_u64(o, "root_complex", port->root_complex);
	json_add_u64(o, "root_port", port->root_port);
	json_add_u64(o, "segment", port->segment);
	json_add_u64(o, "bus", port->bus);
	return 0;
}

/* Only machines with root ports show them. Without root print a note, not an error. */
static void show_ports(struct app *app, struct json_object *root)
{
	struct ports ports = { .app = app };

	if (root) {
		ports.array = json_object_new_array();
		json_add(root, "pcie_root_ports", ports.array);
	}
	if (perfctr_pcie_ports(app->ctx, show_port, &ports) == -EACCES)
		fprintf(app->err, "%s\n", perfctr_ctx_error(app->ctx));
}

int info_run(struct app *app, int argc, char **argv)
{
	struct json_object *root = NULL, *devices = NULL, *others = NULL;
	const char *which = NULL;
	bool json = false;
	const struct option_spec options[] = {
		OPTION('d', "device", TEXT, &which),
		OPTION(0, "via", TEXT, &app->via),
		OPTION('j', "json", FLAG, &json),
		OPTIONS_END,
	};
	int status = option_parse(app, argc, argv, help, options, THEN_NOTHING);

	if (status)
		return status < 0 ? EXIT_FINE : status;

	if (json) {
		root = json_object_new_object();
		devices = json_object_new_array();
		others = json_object_new_array();
		json_add_u64(root, "version", 1);
		json_add(root, "devices", devices);
		json_add(root, "without_counters", others);
	}
	status = which || app->via ? show_one(app, which, devices) : show_all(app, devices, others);
	/* what the broker lets a user count who may count nothing else */
	if (!which && !app->via && !app_has_capability(APP_CAP_PERFMON) &&
	    !access(PERFCTR_BROKER_SOCKET, F_OK)) {
		app->via = PERFCTR_BROKER_SOCKET;
		if (!json)
			fputs("through the broker at " PERFCTR_BROKER_SOCKET ":\n", app->out);
		if (!show_one(app, NULL, devices))
			status = EXIT_FINE;
	}
	if (!which)
		show_ports(app, root);
	if (json) {
		json_write(app->out, root, true);
	}
	return status;
}
