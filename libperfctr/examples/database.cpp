// SPDX-License-Identifier: MIT
/* The counter database from C++: names, units and meaning, without a device. */
#include <perfctr/perfctr.h>

#include <cstdio>

int main()
{
	for (auto c = perfctr_counter_next(nullptr); c; c = perfctr_counter_next(c))
		std::printf("%s [%s] %s\n", c->id, c->unit, c->long_text);
	for (auto m = perfctr_metric_next(nullptr); m; m = perfctr_metric_next(m))
		std::printf("%s [%s] = %s\n", m->id, m->unit, m->formula);
	return 0;
}
