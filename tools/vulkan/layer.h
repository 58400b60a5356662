/* SPDX-License-Identifier: MIT */
/*
 * A Vulkan layer: presents are frames, debug labels are phases of the capture that is being
 * recorded. docs/captures.md says what their times mean.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include <perfctr/perfctr.h>

enum {
	LABELS_DEEP = 16, /* labels inside of one another; deeper ones are no phases */
	RECORDED_AT_ONCE = 64, /* command buffers of a device that have an open label */
};

/* Labels of a queue or command buffer that have begun: the end of one has no name. */
struct labels {
	unsigned int depth; /* those without a name here too */
	char names[LABELS_DEEP][PERFCTR_MARK_NAME_MAX + 1]; /* "": no phase */
};

struct queue {
	struct queue *next;
	VkQueue handle;
	struct labels labels;
	VkFence fence; /* for waits */
	bool unusable; /* the fence: it was not made, or never signalled */
};

struct recording {
	VkCommandBuffer handle; /* NULL: free */
	struct labels labels;
};

/* Functions of a device that the layer replaces, by the condition under which it does. */
#define FRAME_FUNCTIONS(X)      \
	X(AcquireNextImageKHR)  \
	X(AcquireNextImage2KHR) \
	X(QueuePresentKHR)
#define LABEL_FUNCTIONS(X)              \
	X(QueueBeginDebugUtilsLabelEXT) \
	X(QueueEndDebugUtilsLabelEXT)   \
	X(QueueInsertDebugUtilsLabelEXT)
#define RECORDING_FUNCTIONS(X)        \
	X(BeginCommandBuffer)         \
	X(EndCommandBuffer)           \
	X(CmdBeginDebugUtilsLabelEXT) \
	X(CmdEndDebugUtilsLabelEXT)   \
	X(CmdInsertDebugUtilsLabelEXT)
/* and those that it calls */
#define CALLED_FUNCTIONS(X) \
	X(CreateFence)      \
	X(DestroyDevice)    \
	X(DestroyFence)     \
	X(QueueSubmit)      \
	X(ResetFences)      \
	X(WaitForFences)

struct functions {
#define MEMBER(name) PFN_vk##name name;
	FRAME_FUNCTIONS(MEMBER)
	LABEL_FUNCTIONS(MEMBER)
	RECORDING_FUNCTIONS(MEMBER)
	CALLED_FUNCTIONS(MEMBER)
#undef MEMBER
};

/* what is found by a handle of the application */
struct object {
	struct object *next;
	const void *key;
};

struct instance {
	struct object object; /* first */
	VkInstance handle;
	PFN_vkGetInstanceProcAddr get; /* of the layer below */
	PFN_vkDestroyInstance destroy;
	bool has_labels; /* VK_EXT_debug_utils */
};

struct device {
	struct object object; /* first */
	VkDevice handle;
	PFN_vkGetDeviceProcAddr get;
	struct functions next; /* of the layer below, NULL: it has none */
	bool has_labels; /* of its instance */
	bool waits; /* PERFCTR_VULKAN_WAIT */
	atomic_bool has_begun; /* the first frame */
	pthread_mutex_t lock; /* of what follows */
	struct queue *queues; /* those with labels or waits */
	struct recording *recordings; /* PERFCTR_VULKAN_RECORDING, else NULL */
};

/* The instance of a VkInstance or VkPhysicalDevice, which must exist. */
struct instance *instance_of(const void *handle);

/* @instance: stays until instance_remove(). */
void instance_add(struct instance *instance);
void instance_remove(struct instance *instance);

/* The device of a VkDevice, VkQueue or VkCommandBuffer, which must exist. */
struct device *device_of(const void *handle);

/* @device: stays until device_remove(). */
void device_add(struct device *device);
void device_remove(struct device *device);

/* Print a line for the user. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* End the open phases of a device, and free what is kept for it. Nothing runs on it any more. */
void device_release(struct device *device);

/* when the layer replaces a function: the lists above */
enum own_kind { OWN_FRAME, OWN_LABEL, OWN_RECORDING };

struct own_function {
	const char *name;
	enum own_kind kind;
	PFN_vkVoidFunction function;
};

/* The layer's own function of that name. NULL: it has none. */
const struct own_function *own_function(const char *name);
