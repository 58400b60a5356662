// SPDX-License-Identifier: MIT
/*
 * Count for a second in ten samples and print the sums.
 * usage: sample [EVENT...], for example: sample 'shader/FRAG*' GPU_ACTIVE
 */
#include <perfctr/perfctr.h>
#include <stdio.h>

enum { SAMPLES = 10, PERIOD_NS = 100000000 };

static int count(struct perfctr_session *session, struct perfctr_totals *totals)
{
	struct perfctr_cursor *cursor = NULL;
	struct perfctr_sample sample;
	int error = perfctr_cursor_new(session, &cursor);
	int n = 0;

	if (!error)
		error = perfctr_session_start(session, 0);
	while (!error && n < SAMPLES) {
		error = perfctr_cursor_wait(cursor, -1);
		if (error < 0)
			break;
		error = 0;
		/* no system call and no copy: the sample is read in the ring */
		while (!error && perfctr_cursor_next(cursor, &sample) > 0) {
			error = perfctr_totals_add(totals, &sample);
			perfctr_cursor_advance(cursor, 1);
			n++;
		}
	}
	perfctr_cursor_unref(cursor);
	return error;
}

static void print(struct perfctr_totals *totals)
{
	const struct perfctr_totals_block *block;
	const struct perfctr_total *total;
	char label[64];

	for (size_t b = 0; (block = perfctr_totals_block(totals, b)); b++) {
		for (size_t n = 0; (total = perfctr_totals_counter(block, n)); n++) {
			perfctr_totals_label(NULL, block, n, label, sizeof(label));
			if (total->measured)
				printf("%-12s %-28s %llu\n",
				       perfctr_totals_block_info(block)->label, label,
				       (unsigned long long)total->sum);
			else
				printf("%-12s %-28s not measured\n",
				       perfctr_totals_block_info(block)->label, label);
		}
	}
}

int main(int argc, char **argv)
{
	struct perfctr_session_opts opts = { .size = sizeof(opts), .period_ns = PERIOD_NS };
	struct perfctr_ctx *ctx = NULL;
	struct perfctr_device *device = NULL;
	struct perfctr_selection *selection = NULL;
	struct perfctr_session *session = NULL;
	struct perfctr_totals *totals = NULL;
	int error = perfctr_ctx_new(&ctx);
	int n;

	if (error)
		return 1;
	error = perfctr_device_open(ctx, NULL, &device);
	if (!error)
		error = perfctr_selection_new(device, &selection);
	for (n = 1; error >= 0 && n < argc; n++)
		error = perfctr_selection_add(selection, argv[n]);
	if (error >= 0 && argc == 1)
		error = perfctr_selection_add(selection, "*");
	if (error >= 0)
		error = perfctr_session_new(selection, &opts, &session);
	if (!error)
		error = perfctr_totals_new(ctx, &totals);
	if (!error)
		error = count(session, totals);
	if (error)
		fprintf(stderr, "sample: %s\n", perfctr_ctx_error(ctx));
	else
		print(totals);

	perfctr_totals_unref(totals);
	perfctr_session_unref(session);
	perfctr_selection_unref(selection);
	perfctr_device_unref(device);
	perfctr_ctx_unref(ctx);
	return error != 0;
}
