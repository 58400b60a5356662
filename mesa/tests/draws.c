// SPDX-License-Identifier: MIT
/* Many small draws, to measure the cost of a draw. usage: draws NUMBER PER-FRAME */
#include "common/monitor.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	struct surface surface;
	int number, per_frame;

	if (argc != 3)
		return 2;
	number = atoi(argv[1]);
	per_frame = atoi(argv[2]);
	if (per_frame < 1)
		return 2;
	surface_new(&surface);
	for (int n = 1; n <= number; n++) {
		draw_rectangle(1 + n % 8, 1 + n % 5);
		if (n % per_frame == 0)
			glFlush();
	}
	glFinish();
	surface_free(&surface);
	return 0;
}
