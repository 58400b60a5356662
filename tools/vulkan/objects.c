// SPDX-License-Identifier: MIT
/* Instances and devices of the application, found by what each call is given; messages. */
#include "layer.h"

#include <stdarg.h>
#include <stdio.h>

/* there are few of both */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct instance *instances;
static struct device *devices;

/* The loader's dispatch table, with which all objects of an instance or device begin. */
static const void *key_of(const void *handle)
{
	return *(const void *const *)handle;
}

struct instance *instance_of(const void *handle)
{
	const void *key = key_of(handle);
	struct instance *instance;

	pthread_rwlock_rdlock(&lock);
	for (instance = instances; instance && instance->key != key;)
		instance = instance->next;
	pthread_rwlock_unlock(&lock);
	return instance;
}

void instance_add(struct instance *instance)
{
	instance->key = key_of(instance->handle);
	pthread_rwlock_wrlock(&lock);
	instance->next = instances;
	instances = instance;
	pthread_rwlock_unlock(&lock);
}

void instance_remove(struct instance *instance)
{
	struct instance **at = &instances;

	pthread_rwlock_wrlock(&lock);
	while (*at != instance)
		at = &(*at)->next;
	*at = instance->next;
	pthread_rwlock_unlock(&lock);
}

struct device *device_of(const void *handle)
{
	const void *key = key_of(handle);
	struct device *device;

	pthread_rwlock_rdlock(&lock);
	for (device = devices; device && device->key != key;)
		device = device->next_device;
	pthread_rwlock_unlock(&lock);
	return device;
}

void device_add(struct device *device)
{
	device->key = key_of(device->handle);
	pthread_rwlock_wrlock(&lock);
	device->next_device = devices;
	devices = device;
	pthread_rwlock_unlock(&lock);
}

void device_remove(struct device *device)
{
	struct device **at = &devices;

	pthread_rwlock_wrlock(&lock);
	while (*at != device)
		at = &(*at)->next_device;
	*at = device->next_device;
	pthread_rwlock_unlock(&lock);
}

void say(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	flockfile(stderr);
	fputs("perfctr's Vulkan layer: ", stderr);
	vfprintf(stderr, format, values);
	fputs(" (DISABLE_PERFCTR_VULKAN=1 leaves the layer out)\n", stderr);
	funlockfile(stderr);
	va_end(values);
}
