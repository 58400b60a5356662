// SPDX-License-Identifier: MIT
/*
 * The virtual GPU is added and removed during CPU hotplug. The PMUs of its SoC stay; KASAN would
 * report accesses to what is gone. usage: race FIRST SECOND: the CPUs of socket 1
 */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soc.h"

#define DRIVER "/sys/bus/platform/drivers/vsoc"
#define DEVICE "vsoc.0"
#define PMUS "/sys/bus/event_source/devices/nvidia_*"
#define UCF "nvidia_ucf_pmu_1"
#define ROUNDS 8
/* in debugfs of the bound device */
#define SLOW "/sys/kernel/debug/dri/*/vsoc/fail_pmu_affinity"
#define COPY "copy bytes=64Ki read initiator=cpu home=cmem socket=1"
#define BYTES 65536

static glob_t pmus;

/* cpumask of the n-th PMU, without the newline */
static void read_cpumask(size_t n, char *text, size_t size)
{
	char path[256];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/cpumask", pmus.gl_pathv[n]);
	fd = open(path, O_RDONLY);
	got = fd < 0 ? -1 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got - 1 : 0] = '\0';
}

/* PMUs whose cpumask is not one CPU */
static unsigned int wrong_cpumasks(void)
{
	unsigned int wrong = 0;

	for (size_t n = 0; n < pmus.gl_pathc; n++) {
		char text[64], *end;

		read_cpumask(n, text, sizeof(text));
		strtoul(text, &end, 10);
		if (*text && !*end)
			continue;
		if (!wrong++)
			printf("# %s: cpumask '%s'\n", pmus.gl_pathv[n], text);
	}
	return wrong;
}

static bool driver(const char *file)
{
	char path[128];
	bool done;
	int fd;

	snprintf(path, sizeof(path), DRIVER "/%s", file);
	fd = open(path, O_WRONLY);
	done = fd >= 0 && write(fd, DEVICE, strlen(DEVICE)) == (ssize_t)strlen(DEVICE);
	if (fd >= 0)
		close(fd);
	return done;
}

/*
 * A fault of the GPU's device delays the few instructions between the choice of another CPU and the
 * move of the interrupt, so that the device can be removed in between.
 */
static bool open_window(void)
{
	static const char often[] = "1000 100";
	glob_t slow;
	bool done = false;

	if (glob(SLOW, 0, NULL, &slow))
		return false;
	for (size_t n = 0; n < slow.gl_pathc; n++) {
		int fd = open(slow.gl_pathv[n], O_WRONLY);

		done |= fd >= 0 && write(fd, often, strlen(often)) == (ssize_t)strlen(often);
		if (fd >= 0)
			close(fd);
	}
	globfree(&slow);
	return done;
}

struct cpu_switch {
	int cpu;
	bool online, done;
};

static void *switch_cpu(void *data)
{
	struct cpu_switch *s = data;

	s->done = soc_cpu_online(s->cpu, s->online);
	return NULL;
}

/* switch a CPU while the device is removed or added, at another moment each time */
static bool race(int cpu, bool online, const char *file)
{
	struct cpu_switch s = { .cpu = cpu, .online = online };
	pthread_t thread;
	bool done;

	if (pthread_create(&thread, NULL, switch_cpu, &s))
		return false;
	usleep(random() % 20000);
	done = driver(file);
	pthread_join(thread, NULL);
	return done && s.done;
}

int main(int argc, char **argv)
{
	int first = argc == 3 ? atoi(argv[1]) : -1, second = argc == 3 ? atoi(argv[2]) : -1;
	unsigned int rounds = 0, failed = 0, wrong = 0;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: race FIRST SECOND\n");
		return 2;
	}
	if (glob(PMUS, 0, NULL, &pmus)) {
		printf("Bail out! no PMU\n");
		return 1;
	}
	for (; rounds < ROUNDS; rounds++) {
		int cpu = rounds % 2 ? second : first;

		/* this CPU now owns the PMUs of its socket */
		failed += !soc_cpu_online(first + second - cpu, false);
		failed += !soc_cpu_online(first + second - cpu, true);
		failed += !open_window();
		failed += !race(cpu, false, "unbind");
		wrong += wrong_cpumasks();
		failed += !race(cpu, true, "bind");
		wrong += wrong_cpumasks();
	}

	tap(!failed, "the device is removed or added %u times, %zu PMUs", rounds, pmus.gl_pathc);
	tap(!wrong, "cpumask is one CPU: %u times not", wrong);
	fd = soc_event(UCF, 0x113, 0, 0, -1);
	soc_job(COPY);
	tap(fd >= 0 && soc_read(fd).value == BYTES, "events count as before");
	close(fd);
	return tap_done();
}
