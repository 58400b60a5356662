// SPDX-License-Identifier: MIT
/* What an application calls while it draws: presents, labels, and waits of the layer for both. */
#include "layer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pctr_frames.h"

enum { SEMAPHORES_AT_ONCE = 8 };
/* a queue that takes longer may wait for what the program does next */
#define PATIENCE_NS 5000000000ull
#define FRAME_NAME "frame"
#define RECORDING_PREFIX "record "

/* --- marks ------------------------------------------------------------------- */

static void put(enum perfctr_mark_kind kind, const char *name)
{
	static atomic_bool said;
	const int error = perfctr_mark(kind, name);

	if (error < 0 && !atomic_exchange(&said, true))
		say("frames and labels are not marked: %s",
		    error == -EAGAIN ? "perfctr record does not keep up" : strerror(-error));
}

/* Copy what a mark can hold of a name, whole characters of UTF-8. */
static void copy_name(char *to, const char *prefix, const char *name)
{
	size_t bytes;

	/* as it may be while a program is written; a mark has a name */
	if (!name || !*name)
		name = "label";
	bytes = (size_t)snprintf(to, PERFCTR_MARK_NAME_MAX + 1, "%s%s", prefix, name);

	if (bytes <= PERFCTR_MARK_NAME_MAX)
		return;
	bytes = PERFCTR_MARK_NAME_MAX;
	/* the first byte that is cut off may belong to the character before it */
	for (name += bytes - strlen(prefix); bytes > 1 && (*name & 0xc0) == 0x80; name--)
		bytes--;
	to[bytes] = '\0';
}

static void labels_begin(struct labels *labels, const char *prefix, const char *name)
{
	char *copy;

	if (labels->depth++ >= LABELS_DEEP)
		return;
	copy = labels->names[labels->depth - 1];
	copy_name(copy, prefix, name);
	put(PERFCTR_MARK_BEGIN, copy);
}

static void labels_end(struct labels *labels)
{
	/* the end of a label that began elsewhere has no name */
	if (labels->depth && --labels->depth < LABELS_DEEP)
		put(PERFCTR_MARK_END, labels->names[labels->depth]);
}

static void labels_end_all(struct labels *labels)
{
	while (labels->depth)
		labels_end(labels);
}

static void label_point(const char *prefix, const char *name)
{
	char copy[PERFCTR_MARK_NAME_MAX + 1];

	copy_name(copy, prefix, name);
	put(PERFCTR_MARK_POINT, copy);
}

/* --- queues ------------------------------------------------------------------ */

/* Return: NULL if out of memory. */
static struct queue *queue_of(struct device *device, VkQueue handle)
{
	struct queue *queue;

	pthread_mutex_lock(&device->lock);
	for (queue = device->queues; queue && queue->handle != handle;)
		queue = queue->next;
	if (!queue)
		queue = calloc(1, sizeof(*queue));
	if (queue && !queue->handle) {
		queue->handle = handle;
		queue->next = device->queues;
		device->queues = queue;
	}
	pthread_mutex_unlock(&device->lock);
	return queue;
}

/*
 * Wait until the queue has done all, and for semaphores of a present, behind which work of other
 * queues may be. Vulkan demands of the program that one thread at a time submits and presents; of
 * labels its older versions do not say so, hence PERFCTR_VULKAN_WAIT.
 * Return: the number of semaphores that were waited for, which no one can wait for again.
 */
static uint32_t wait_for(struct device *device, struct queue *queue, const VkSemaphore *semaphores,
			 uint32_t count)
{
	const struct functions *next = &device->next;
	const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	VkPipelineStageFlags stages[SEMAPHORES_AT_ONCE];
	VkResult result = VK_SUCCESS;
	uint32_t done = 0;

	if (queue && !queue->fence && !queue->unusable)
		queue->unusable = next->CreateFence(device->handle, &fence, NULL, &queue->fence);
	if (!queue || queue->unusable)
		return 0;
	for (size_t n = 0; n < SEMAPHORES_AT_ONCE; n++)
		stages[n] = VK_PIPELINE_STAGE_ALL_COMMANDS_BIT;
	while (done < count) {
		const uint32_t left = count - done;
		const uint32_t some = left < SEMAPHORES_AT_ONCE ? left : SEMAPHORES_AT_ONCE;
		const VkSubmitInfo info = {
			.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
			.waitSemaphoreCount = some,
			.pWaitSemaphores = semaphores + done,
			.pWaitDstStageMask = stages,
		};

		result = next->QueueSubmit(queue->handle, 1, &info, VK_NULL_HANDLE);
		if (result != VK_SUCCESS)
			return done;
		done += some;
	}
	result = next->QueueSubmit(queue->handle, 0, NULL, queue->fence);
	if (result == VK_SUCCESS)
		result =
			next->WaitForFences(device->handle, 1, &queue->fence, VK_TRUE, PATIENCE_NS);
	if (result == VK_SUCCESS)
		result = next->ResetFences(device->handle, 1, &queue->fence);
	queue->unusable = result != VK_SUCCESS;
	if (result == VK_TIMEOUT)
		say("a queue is not idle after %llu s: frames and labels of it do not wait for the "
		    "GPU any more",
		    PATIENCE_NS / 1000000000);
	return done;
}

void device_release(struct device *device)
{
	for (struct queue *queue = device->queues, *next; queue; queue = next) {
		next = queue->next;
		labels_end_all(&queue->labels);
		if (queue->fence)
			device->next.DestroyFence(device->handle, queue->fence, NULL);
		free(queue);
	}
	for (size_t n = 0; device->recordings && n < RECORDED_AT_ONCE; n++)
		labels_end_all(&device->recordings[n].labels);
	/* what comes before the frames of another device is none */
	if (device->has_begun)
		put(PERFCTR_MARK_END, FRAME_NAME);
	pctr_frames_leave(device);
}

static VKAPI_ATTR void VKAPI_CALL queue_begin(VkQueue handle, const VkDebugUtilsLabelEXT *label)
{
	struct device *device = device_of(handle);
	struct queue *queue = queue_of(device, handle);

	if (device->next.QueueBeginDebugUtilsLabelEXT)
		device->next.QueueBeginDebugUtilsLabelEXT(handle, label);
	if (device->waits)
		wait_for(device, queue, NULL, 0);
	pthread_mutex_lock(&device->lock);
	if (queue)
		labels_begin(&queue->labels, "", label->pLabelName);
	pthread_mutex_unlock(&device->lock);
}

static VKAPI_ATTR void VKAPI_CALL queue_end(VkQueue handle)
{
	struct device *device = device_of(handle);
	struct queue *queue = queue_of(device, handle);

	if (device->waits)
		wait_for(device, queue, NULL, 0);
	pthread_mutex_lock(&device->lock);
	if (queue)
		labels_end(&queue->labels);
	pthread_mutex_unlock(&device->lock);
	if (device->next.QueueEndDebugUtilsLabelEXT)
		device->next.QueueEndDebugUtilsLabelEXT(handle);
}

static VKAPI_ATTR void VKAPI_CALL queue_insert(VkQueue handle, const VkDebugUtilsLabelEXT *label)
{
	struct device *device = device_of(handle);

	if (device->waits)
		wait_for(device, queue_of(device, handle), NULL, 0);
	label_point("", label->pLabelName);
	if (device->next.QueueInsertDebugUtilsLabelEXT)
		device->next.QueueInsertDebugUtilsLabelEXT(handle, label);
}

/* --- frames ------------------------------------------------------------------ */

/* The first frame begins here, not with what the program loads before. */
static void begin_frames(struct device *device)
{
	if (!atomic_exchange(&device->has_begun, true))
		put(PERFCTR_MARK_FRAME, FRAME_NAME);
}

static VKAPI_ATTR VkResult VKAPI_CALL acquire(VkDevice handle, VkSwapchainKHR chain,
					      uint64_t timeout_ns, VkSemaphore semaphore,
					      VkFence fence, uint32_t *image)
{
	struct device *device = device_of(handle);

	begin_frames(device);
	return device->next.AcquireNextImageKHR(handle, chain, timeout_ns, semaphore, fence, image);
}

static VKAPI_ATTR VkResult VKAPI_CALL acquire_2(VkDevice handle,
						const VkAcquireNextImageInfoKHR *info,
						uint32_t *image)
{
	struct device *device = device_of(handle);

	begin_frames(device);
	return device->next.AcquireNextImage2KHR(handle, info, image);
}

static void say_frames(const char *text)
{
	say("%s", text);
}

static VKAPI_ATTR VkResult VKAPI_CALL present(VkQueue handle, const VkPresentInfoKHR *info)
{
	struct device *device = device_of(handle);
	/* of a perfctr perfkit, which changes counters before the next frame */
	const bool reports = pctr_frames_wanted() && pctr_frames_listens(device, say_frames);
	VkPresentInfoKHR copy = *info;
	VkResult result;

	if (device->waits || reports) {
		const uint32_t done = wait_for(device, queue_of(device, handle),
					       info->pWaitSemaphores, info->waitSemaphoreCount);

		copy.waitSemaphoreCount -= done;
		copy.pWaitSemaphores = copy.waitSemaphoreCount ? copy.pWaitSemaphores + done : NULL;
	}
	result = device->next.QueuePresentKHR(handle, &copy);
	if (result < 0)
		return result;
	put(PERFCTR_MARK_FRAME, FRAME_NAME);
	if (reports)
		pctr_frames_end(device, "");
	return result;
}

/* --- command buffers --------------------------------------------------------- */

/* Called with the lock. @handle: NULL: a free one. Return: NULL if there is none. */
static struct recording *recording_of(const struct device *device, VkCommandBuffer handle)
{
	for (size_t n = 0; device->recordings && n < RECORDED_AT_ONCE; n++)
		if (device->recordings[n].handle == handle)
			return &device->recordings[n];
	return NULL;
}

/* Phases of a command buffer end with its recording, also one that was given up. */
static void forget_recording(struct device *device, VkCommandBuffer handle)
{
	struct recording *recording;

	pthread_mutex_lock(&device->lock);
	recording = recording_of(device, handle);
	if (recording) {
		labels_end_all(&recording->labels);
		recording->handle = NULL;
	}
	pthread_mutex_unlock(&device->lock);
}

static VKAPI_ATTR VkResult VKAPI_CALL begin_recording(VkCommandBuffer handle,
						      const VkCommandBufferBeginInfo *info)
{
	struct device *device = device_of(handle);

	forget_recording(device, handle);
	return device->next.BeginCommandBuffer(handle, info);
}

static VKAPI_ATTR VkResult VKAPI_CALL end_recording(VkCommandBuffer handle)
{
	struct device *device = device_of(handle);

	forget_recording(device, handle);
	return device->next.EndCommandBuffer(handle);
}

static VKAPI_ATTR void VKAPI_CALL command_begin(VkCommandBuffer handle,
						const VkDebugUtilsLabelEXT *label)
{
	static atomic_bool said;
	struct device *device = device_of(handle);
	struct recording *recording;

	if (device->next.CmdBeginDebugUtilsLabelEXT)
		device->next.CmdBeginDebugUtilsLabelEXT(handle, label);
	pthread_mutex_lock(&device->lock);
	recording = recording_of(device, handle);
	if (!recording)
		recording = recording_of(device, NULL);
	if (recording) {
		recording->handle = handle;
		labels_begin(&recording->labels, RECORDING_PREFIX, label->pLabelName);
	}
	pthread_mutex_unlock(&device->lock);
	if (!recording && device->recordings && !atomic_exchange(&said, true))
		say("labels are lost: more than %d command buffers are recorded", RECORDED_AT_ONCE);
}

static VKAPI_ATTR void VKAPI_CALL command_end(VkCommandBuffer handle)
{
	struct device *device = device_of(handle);
	struct recording *recording;

	pthread_mutex_lock(&device->lock);
	recording = recording_of(device, handle);
	if (recording)
		labels_end(&recording->labels);
	if (recording && !recording->labels.depth)
		recording->handle = NULL;
	pthread_mutex_unlock(&device->lock);
	if (device->next.CmdEndDebugUtilsLabelEXT)
		device->next.CmdEndDebugUtilsLabelEXT(handle);
}

static VKAPI_ATTR void VKAPI_CALL command_insert(VkCommandBuffer handle,
						 const VkDebugUtilsLabelEXT *label)
{
	struct device *device = device_of(handle);

	label_point(RECORDING_PREFIX, label->pLabelName);
	if (device->next.CmdInsertDebugUtilsLabelEXT)
		device->next.CmdInsertDebugUtilsLabelEXT(handle, label);
}

/* --- names of functions ------------------------------------------------------ */

#define OWN(kind, name, function)                                              \
	{                                                                      \
		"vk" #name, kind, (PFN_vkVoidFunction)(PFN_vk##name)(function) \
	}

const struct own_function *own_function(const char *name)
{
	static const struct own_function functions[] = {
		OWN(OWN_FRAME, AcquireNextImageKHR, acquire),
		OWN(OWN_FRAME, AcquireNextImage2KHR, acquire_2),
		OWN(OWN_FRAME, QueuePresentKHR, present),
		OWN(OWN_LABEL, QueueBeginDebugUtilsLabelEXT, queue_begin),
		OWN(OWN_LABEL, QueueEndDebugUtilsLabelEXT, queue_end),
		OWN(OWN_LABEL, QueueInsertDebugUtilsLabelEXT, queue_insert),
		OWN(OWN_RECORDING, BeginCommandBuffer, begin_recording),
		OWN(OWN_RECORDING, EndCommandBuffer, end_recording),
		OWN(OWN_RECORDING, CmdBeginDebugUtilsLabelEXT, command_begin),
		OWN(OWN_RECORDING, CmdEndDebugUtilsLabelEXT, command_end),
		OWN(OWN_RECORDING, CmdInsertDebugUtilsLabelEXT, command_insert),
	};

	for (size_t n = 0; n < sizeof(functions) / sizeof(functions[0]); n++)
		if (!strcmp(functions[n].name, name))
			return &functions[n];
	return NULL;
}
