// SPDX-License-Identifier: MIT
/*
 * Add up a capture of perfctr record and print it; no device is needed. usage: capture FILE
 */
#include <perfctr/capture.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

static int add_all(struct perfctr_capture_reader *reader, struct perfctr_totals *totals)
{
	struct perfctr_capture_record record;
	struct perfctr_sample sample;
	int result;

	while ((result = perfctr_capture_next(reader, &record)) > 0) {
		/* the reader handles the other records, which describe the samples */
		if (record.type != PERFCTR_CAPTURE_SAMPLE ||
		    perfctr_capture_sample(reader, &record, &sample))
			continue;
		result = perfctr_totals_add(totals, &sample);
		if (result)
			return result;
	}
	return result;
}

static void print(const struct perfctr_capture_reader *reader, const struct perfctr_totals *totals)
{
	struct perfctr_selection *selection = perfctr_capture_selection(reader);
	const struct perfctr_totals_block *block;
	const struct perfctr_total *total;
	struct perfctr_value value;
	char label[64], unit[32];

	printf("%s, %llu samples%s\n", perfctr_device_info(perfctr_capture_device(reader))->name,
	       (unsigned long long)perfctr_totals_span(totals)->samples,
	       perfctr_capture_status(reader) ? "" : ", the end is missing");
	for (size_t b = 0; (block = perfctr_totals_block(totals, b)); b++) {
		for (size_t n = 0; (total = perfctr_totals_counter(block, n)); n++) {
			perfctr_totals_label(selection, block, n, label, sizeof(label));
			perfctr_totals_unit(selection, block, n, unit, sizeof(unit), NULL);
			perfctr_totals_value(block, n, &value, NULL);
			if (value.state == PERFCTR_VALUE_OK)
				printf("%-12s %-28s %llu %s\n",
				       perfctr_totals_block_info(block)->label, label,
				       (unsigned long long)total->sum, unit);
			else
				printf("%-12s %-28s not measured\n",
				       perfctr_totals_block_info(block)->label, label);
		}
	}
}

int main(int argc, char **argv)
{
	struct perfctr_capture_reader *reader = NULL;
	struct perfctr_totals *totals = NULL, *sum = NULL;
	struct perfctr_ctx *ctx = NULL;
	int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	int error = perfctr_ctx_new(&ctx);

	if (error)
		return 1;
	if (fd < 0) {
		perror(argc == 2 ? argv[1] : "usage: capture FILE");
		perfctr_ctx_unref(ctx);
		return 1;
	}
	error = perfctr_capture_reader_new(ctx, fd, &reader);
	if (!error)
		error = perfctr_totals_new(ctx, &totals);
	if (!error)
		error = perfctr_totals_describe(totals, perfctr_capture_selection(reader));
	if (!error)
		error = add_all(reader, totals);
	/* a damaged file is valid up to the damage */
	if (error)
		fprintf(stderr, "capture: %s\n", perfctr_ctx_error(ctx));
	if (totals && (!error || error == -EBADMSG))
		error = perfctr_totals_sum(totals, &sum) ? -ENOMEM : error;
	if (sum)
		print(reader, sum);
	perfctr_totals_unref(sum);
	perfctr_totals_unref(totals);
	perfctr_capture_reader_unref(reader);
	perfctr_ctx_unref(ctx);
	return error != 0;
}
