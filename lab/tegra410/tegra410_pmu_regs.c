// SPDX-License-Identifier: GPL-2.0
/*
 * Tegra410 uncore PMUs: register access through the regmap.
 */
#include <linux/regmap.h>

#include "tegra410_pmu.h"

/* retries; the high word changes once in 2^32 counts, so one retry normally suffices */
#define HI_LO_HI_POLLS	1000

/*
 * Read a register. Returns 0 or the regmap's error.
 * @window: window of the register; @offset: offset in the window; @value: set to its value, on
 * success only.
 */
int tegra410_pmu_read32(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			u32 *value)
{
	return regmap_read(pmu->pdata.regmap, TEGRA410_WINDOW(window) + offset, value);
}

/*
 * Write a register.
 * @window: window of the register; @offset: offset in the window; @value: new value.
 */
void tegra410_pmu_write32(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			  u32 value)
{
	regmap_write(pmu->pdata.regmap, TEGRA410_WINDOW(window) + offset, value);
}

/*
 * Write a pair of registers, low word first.
 * @window: window of the registers; @offset: offset of the low word; @value: new value.
 */
void tegra410_pmu_write64(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			  u64 value)
{
	tegra410_pmu_write32(pmu, window, offset, lower_32_bits(value));
	tegra410_pmu_write32(pmu, window, offset + 4, upper_32_bits(value));
}

/*
 * Read a 64-bit counter that may be counting. Returns 0; the regmap's error; -ETIMEDOUT if the high
 * word keeps changing, which no working counter does. A guessed value would appear as an enormous
 * count.
 * @window: window of the counter; @offset: offset of its low word; @value: set to its value, on
 * success only.
 */
int tegra410_pmu_read64(struct tegra410_pmu *pmu, unsigned int window, unsigned int offset,
			u64 *value)
{
	unsigned int reg = TEGRA410_WINDOW(window) + offset;
	unsigned int hi, lo, again;
	int poll, ret;

	ret = regmap_read(pmu->pdata.regmap, reg + 4, &hi);
	for (poll = 0; !ret && poll < HI_LO_HI_POLLS; poll++) {
		ret = regmap_read(pmu->pdata.regmap, reg, &lo);
		if (!ret)
			ret = regmap_read(pmu->pdata.regmap, reg + 4, &again);
		if (ret)
			break;
		if (hi == again) {
			*value = (u64)hi << 32 | lo;
			return 0;
		}
		hi = again;
	}
	return ret ?: -ETIMEDOUT;
}
