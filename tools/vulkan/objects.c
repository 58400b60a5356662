// SPDX-License-Identifier: MIT
/* Instances and devices of the application, found by what each call is given; messages. */
#include "layer.h"

#include <stdarg.h>
#include <stdio.h>

/* there are few of both */
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct object *instances, *devices;

/* The loader's dispatch table, with which all objects of an instance or device begin. */
static const void *key_of(const void *handle)
{
	return *(const void *const *)handle;
}

static struct object *find(struct object *const *list, const void *handle)
{
	const void *key = key_of(handle);
	struct object *object;

	pthread_rwlock_rdlock(&lock);
	for (object = *list; object && object->key != key;)
		object = object->next;
	pthread_rwlock_unlock(&lock);
	return object;
}

static void add(struct object **list, struct object *object, const void *handle)
{
	object->key = key_of(handle);
	pthread_rwlock_wrlock(&lock);
	object->next = *list;
	*list = object;
	pthread_rwlock_unlock(&lock);
}

static void take_out(struct object **list, const struct object *object)
{
	pthread_rwlock_wrlock(&lock);
	while (*list != object)
		list = &(*list)->next;
	*list = object->next;
	pthread_rwlock_unlock(&lock);
}

struct instance *instance_of(const void *handle)
{
	return (struct instance *)find(&instances, handle);
}

void instance_add(struct instance *instance)
{
	add(&instances, &instance->object, instance->handle);
}

void instance_remove(struct instance *instance)
{
	take_out(&instances, &instance->object);
}

struct device *device_of(const void *handle)
{
	return (struct device *)find(&devices, handle);
}

void device_add(struct device *device)
{
	add(&devices, &device->object, device->handle);
}

void device_remove(struct device *device)
{
	take_out(&devices, &device->object);
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
