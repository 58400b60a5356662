// SPDX-License-Identifier: MIT
/*
 * usage: present FRAMES [THREADS [wrong | stuck | again]]
 *
 * Draws FRAMES frames in each of so many threads, which have an instance, a device and a window
 * each, with labels of Vulkan's debug utilities. Messages of a validation layer are printed on
 * stderr, and the status is then 1. Prints how many frames the GPU had finished when their label
 * ended. "wrong": presents an image in a layout that is for drawing. "stuck": once the queue waits
 * for what the program does later. "again": ten times; files that stay open are a failure.
 */
#define VK_USE_PLATFORM_XCB_KHR
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vulkan/vulkan.h>
#include <xcb/xcb.h>

enum { MOST_IMAGES = 16, MOST_THREADS = 16, DEEP = 20, SIDE = 64, BUFFER_BYTES = 64 << 20 };

#define CHECK(call)                                                                  \
	do {                                                                         \
		const VkResult result_ = (call);                                     \
                                                                                     \
		if (result_ < 0) {                                                   \
			fprintf(stderr, "%s:%d: %d\n", __FILE__, __LINE__, result_); \
			exit(1);                                                     \
		}                                                                    \
	} while (0)

/* functions of the extension: of the queue by the instance, of command buffers by the device */
struct labels {
	PFN_vkQueueBeginDebugUtilsLabelEXT queue_begin;
	PFN_vkQueueEndDebugUtilsLabelEXT queue_end;
	PFN_vkQueueInsertDebugUtilsLabelEXT queue_insert;
	PFN_vkCmdBeginDebugUtilsLabelEXT begin;
	PFN_vkCmdEndDebugUtilsLabelEXT end;
	PFN_vkCmdInsertDebugUtilsLabelEXT insert;
};

struct window {
	xcb_connection_t *display;
	xcb_window_t id;
	VkInstance instance;
	VkDebugUtilsMessengerEXT messenger;
	VkPhysicalDevice gpu;
	VkSurfaceKHR surface;
	VkDevice device;
	VkQueue queue;
	VkSwapchainKHR chain;
	VkImage images[MOST_IMAGES];
	uint32_t image_count;
	VkCommandPool pool;
	VkCommandBuffer commands[MOST_IMAGES];
	VkSemaphore acquired, drawn[MOST_IMAGES];
	VkFence fence;
	VkBuffer buffer; /* filling it takes the GPU longer than a submission takes the CPU */
	VkDeviceMemory memory;
	struct labels labels;
};

static int frames;
static const char *special;
static atomic_int messages;
static atomic_int finished; /* frames */

static bool is_special(const char *name)
{
	return special && !strcmp(special, name);
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
						 VkDebugUtilsMessageTypeFlagsEXT types,
						 const VkDebugUtilsMessengerCallbackDataEXT *data,
						 void *context)
{
	/* of the loader: libraries that it cannot load here, for other drivers */
	if (types & VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT) {
		atomic_fetch_add(&messages, 1);
		fprintf(stderr, "%s\n", data->pMessage);
	}
	return VK_FALSE;
}

static void open_window(struct window *w)
{
	xcb_screen_t *screen;

	w->display = xcb_connect(NULL, NULL);
	if (xcb_connection_has_error(w->display)) {
		fputs("no X server\n", stderr);
		exit(1);
	}
	screen = xcb_setup_roots_iterator(xcb_get_setup(w->display)).data;
	w->id = xcb_generate_id(w->display);
	xcb_create_window(w->display, XCB_COPY_FROM_PARENT, w->id, screen->root, 0, 0, SIDE, SIDE,
			  0, XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
	xcb_map_window(w->display, w->id);
	xcb_flush(w->display);
}

static void open_instance(struct window *w)
{
	static const char *const extensions[] = { VK_KHR_SURFACE_EXTENSION_NAME,
						  VK_KHR_XCB_SURFACE_EXTENSION_NAME,
						  VK_EXT_DEBUG_UTILS_EXTENSION_NAME };
	const VkDebugUtilsMessengerCreateInfoEXT messenger = {
		.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
		.messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
				   VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
		.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT |
			       VK_DEBUG_UTILS_MESSAGE_TYPE_PERFORMANCE_BIT_EXT,
		.pfnUserCallback = on_message,
	};
	const VkApplicationInfo application = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
						.apiVersion = VK_API_VERSION_1_2 };
	const VkInstanceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
		.pNext = &messenger,
		.pApplicationInfo = &application,
		.enabledExtensionCount = sizeof(extensions) / sizeof(extensions[0]),
		.ppEnabledExtensionNames = extensions,
	};
	const VkXcbSurfaceCreateInfoKHR surface = {
		.sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR,
		.connection = w->display,
		.window = w->id,
	};
	PFN_vkCreateDebugUtilsMessengerEXT create;
	uint32_t count = 1;

	CHECK(vkCreateInstance(&info, NULL, &w->instance));
	create = (PFN_vkCreateDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
		w->instance, "vkCreateDebugUtilsMessengerEXT");
	CHECK(create(w->instance, &messenger, NULL, &w->messenger));
	CHECK(vkEnumeratePhysicalDevices(w->instance, &count, &w->gpu));
	CHECK(vkCreateXcbSurfaceKHR(w->instance, &surface, NULL, &w->surface));
}

static void open_device(struct window *w)
{
	static const char *const extensions[] = { VK_KHR_SWAPCHAIN_EXTENSION_NAME };
	const float priority = 1;
	const VkDeviceQueueCreateInfo queue = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
		.queueCount = 1,
		.pQueuePriorities = &priority,
	};
	const VkPhysicalDeviceVulkan12Features features = {
		.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES,
		.timelineSemaphore = VK_TRUE,
	};
	const VkDeviceCreateInfo info = {
		.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
		.pNext = &features,
		.queueCreateInfoCount = 1,
		.pQueueCreateInfos = &queue,
		.enabledExtensionCount = 1,
		.ppEnabledExtensionNames = extensions,
	};
	VkBool32 presents = VK_FALSE;
	uint32_t families = 1;
	VkQueueFamilyProperties family;

	vkGetPhysicalDeviceQueueFamilyProperties(w->gpu, &families, &family);
	CHECK(vkGetPhysicalDeviceSurfaceSupportKHR(w->gpu, 0, w->surface, &presents));
	if (!presents) {
		fputs("the first family of queues does not present\n", stderr);
		exit(1);
	}
	CHECK(vkCreateDevice(w->gpu, &info, NULL, &w->device));
	vkGetDeviceQueue(w->device, 0, 0, &w->queue);
#define BY_INSTANCE(name) (PFN_vk##name) vkGetInstanceProcAddr(w->instance, "vk" #name)
#define BY_DEVICE(name) (PFN_vk##name) vkGetDeviceProcAddr(w->device, "vk" #name)
	w->labels = (struct labels){
		.queue_begin = BY_INSTANCE(QueueBeginDebugUtilsLabelEXT),
		.queue_end = BY_INSTANCE(QueueEndDebugUtilsLabelEXT),
		.queue_insert = BY_INSTANCE(QueueInsertDebugUtilsLabelEXT),
		.begin = BY_DEVICE(CmdBeginDebugUtilsLabelEXT),
		.end = BY_DEVICE(CmdEndDebugUtilsLabelEXT),
		.insert = BY_DEVICE(CmdInsertDebugUtilsLabelEXT),
	};
}

static void open_chain(struct window *w)
{
	VkSurfaceCapabilitiesKHR can;
	VkSurfaceFormatKHR format;
	VkSwapchainCreateInfoKHR info = {
		.sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
		.surface = w->surface,
		.imageArrayLayers = 1,
		.imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
		.compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
		.preTransform = VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR,
		.presentMode = VK_PRESENT_MODE_FIFO_KHR,
		.clipped = VK_TRUE,
	};
	uint32_t count = 1;

	CHECK(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(w->gpu, w->surface, &can));
	CHECK(vkGetPhysicalDeviceSurfaceFormatsKHR(w->gpu, w->surface, &count, &format));
	info.minImageCount = can.minImageCount;
	info.imageFormat = format.format;
	info.imageColorSpace = format.colorSpace;
	info.imageExtent = can.currentExtent;
	CHECK(vkCreateSwapchainKHR(w->device, &info, NULL, &w->chain));
	w->image_count = MOST_IMAGES;
	CHECK(vkGetSwapchainImagesKHR(w->device, w->chain, &w->image_count, w->images));
}

static void open_commands(struct window *w)
{
	const VkSemaphoreCreateInfo semaphore = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
	};
	const VkFenceCreateInfo fence = { .sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO };
	const VkCommandPoolCreateInfo pool = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
		.flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
	};
	VkCommandBufferAllocateInfo commands = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
		.commandBufferCount = w->image_count,
	};

	CHECK(vkCreateCommandPool(w->device, &pool, NULL, &w->pool));
	commands.commandPool = w->pool;
	CHECK(vkAllocateCommandBuffers(w->device, &commands, w->commands));
	CHECK(vkCreateSemaphore(w->device, &semaphore, NULL, &w->acquired));
	for (uint32_t n = 0; n < w->image_count; n++)
		CHECK(vkCreateSemaphore(w->device, &semaphore, NULL, &w->drawn[n]));
	CHECK(vkCreateFence(w->device, &fence, NULL, &w->fence));
}

static void open_buffer(struct window *w)
{
	const VkBufferCreateInfo buffer = {
		.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
		.size = BUFFER_BYTES,
		.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT,
	};
	VkMemoryRequirements needs;
	VkMemoryAllocateInfo memory = { .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO };

	CHECK(vkCreateBuffer(w->device, &buffer, NULL, &w->buffer));
	vkGetBufferMemoryRequirements(w->device, w->buffer, &needs);
	memory.allocationSize = needs.size;
	while (!(needs.memoryTypeBits & 1u << memory.memoryTypeIndex))
		memory.memoryTypeIndex++;
	CHECK(vkAllocateMemory(w->device, &memory, NULL, &w->memory));
	CHECK(vkBindBufferMemory(w->device, w->buffer, w->memory, 0));
}

static VkDebugUtilsLabelEXT label(const char *name)
{
	return (VkDebugUtilsLabelEXT){ .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
				       .pLabelName = name };
}

static void move(VkCommandBuffer commands, VkImage image, VkImageLayout from, VkImageLayout to)
{
	const VkImageMemoryBarrier barrier = {
		.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
		.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
		.dstAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
		.oldLayout = from,
		.newLayout = to,
		.srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
		.image = image,
		.subresourceRange = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 },
	};

	vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
			     VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL, 1, &barrier);
}

/* @n: of the frame. In each fourth the label "open" has no end. */
static void record_commands(const struct window *w, VkCommandBuffer commands, VkImage image, int n)
{
	const VkCommandBufferBeginInfo begin = {
		.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
	};
	const VkImageSubresourceRange all = { VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1 };
	const VkDebugUtilsLabelEXT clear = label("clear"), point = label("here"),
				   open = label("open");
	const VkClearColorValue color = { .float32 = { 0, 0, 1, 1 } };

	CHECK(vkBeginCommandBuffer(commands, &begin));
	w->labels.begin(commands, &clear);
	move(commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
	vkCmdClearColorImage(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &color, 1,
			     &all);
	w->labels.insert(commands, &point);
	vkCmdFillBuffer(commands, w->buffer, 0, VK_WHOLE_SIZE, (uint32_t)n);
	if (!is_special("wrong"))
		move(commands, image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
		     VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
	w->labels.end(commands);
	if (n % 4 == 3)
		w->labels.begin(commands, &open);
	CHECK(vkEndCommandBuffer(commands));
}

static void draw(const struct window *w, int n)
{
	static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
	const VkDebugUtilsLabelEXT whole = label("whole"), inner = label("inner"),
				   point = label("submitted");
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.waitSemaphoreCount = 1,
		.pWaitSemaphores = &w->acquired,
		.pWaitDstStageMask = &stage,
		.commandBufferCount = 1,
		.signalSemaphoreCount = 1,
	};
	VkPresentInfoKHR present = {
		.sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
		.waitSemaphoreCount = 1,
		.swapchainCount = 1,
		.pSwapchains = &w->chain,
	};
	uint32_t image;

	CHECK(vkAcquireNextImageKHR(w->device, w->chain, UINT64_MAX, w->acquired, VK_NULL_HANDLE,
				    &image));
	record_commands(w, w->commands[image], w->images[image], n);
	submit.pCommandBuffers = &w->commands[image];
	submit.pSignalSemaphores = present.pWaitSemaphores = &w->drawn[image];
	present.pImageIndices = &image;
	w->labels.queue_begin(w->queue, &whole);
	w->labels.queue_begin(w->queue, &inner);
	CHECK(vkQueueSubmit(w->queue, 1, &submit, w->fence));
	w->labels.queue_insert(w->queue, &point);
	w->labels.queue_end(w->queue);
	finished += vkGetFenceStatus(w->device, w->fence) == VK_SUCCESS;
	w->labels.queue_end(w->queue);
	CHECK(vkQueuePresentKHR(w->queue, &present));
	CHECK(vkWaitForFences(w->device, 1, &w->fence, VK_TRUE, UINT64_MAX));
	CHECK(vkResetFences(w->device, 1, &w->fence));
}

static void begin_label(const struct window *w, const char *name)
{
	const VkDebugUtilsLabelEXT one = label(name);

	w->labels.queue_begin(w->queue, &one);
}

/* The label ends before the program lets the queue go on. */
static void wait_for_later(const struct window *w)
{
	static const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
	const uint64_t value = 1;
	const VkSemaphoreTypeCreateInfo type = {
		.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
		.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE,
	};
	const VkSemaphoreCreateInfo info = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
					     .pNext = &type };
	const VkTimelineSemaphoreSubmitInfo values = {
		.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
		.waitSemaphoreValueCount = 1,
		.pWaitSemaphoreValues = &value,
	};
	VkSubmitInfo submit = {
		.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
		.pNext = &values,
		.waitSemaphoreCount = 1,
		.pWaitDstStageMask = &stage,
	};
	VkSemaphoreSignalInfo go = { .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .value = 1 };
	VkSemaphore semaphore;

	CHECK(vkCreateSemaphore(w->device, &info, NULL, &semaphore));
	submit.pWaitSemaphores = &semaphore;
	go.semaphore = semaphore;
	begin_label(w, "stuck");
	CHECK(vkQueueSubmit(w->queue, 1, &submit, VK_NULL_HANDLE));
	w->labels.queue_end(w->queue);
	CHECK(vkSignalSemaphore(w->device, &go));
	CHECK(vkDeviceWaitIdle(w->device));
	vkDestroySemaphore(w->device, semaphore, NULL);
}

/* Labels that are hard to name: too many, too long in whole characters, empty, without an end. */
static void draw_labels(const struct window *w)
{
	char text[256] = "x", deep[DEEP][16];

	for (int n = 0; n < DEEP; n++) {
		snprintf(deep[n], sizeof(deep[n]), "deep %d", n);
		begin_label(w, deep[n]);
	}
	for (int n = 0; n < DEEP; n++)
		w->labels.queue_end(w->queue);
	/* 1 + 2 * 100 bytes, of which 127 fit */
	for (int n = 0; n < 100; n++)
		strcat(text, "\u00e4");
	begin_label(w, text);
	w->labels.queue_end(w->queue);
	begin_label(w, "");
	w->labels.queue_end(w->queue);
	begin_label(w, "last");
}

static void close_all(struct window *w)
{
	PFN_vkDestroyDebugUtilsMessengerEXT destroy =
		(PFN_vkDestroyDebugUtilsMessengerEXT)vkGetInstanceProcAddr(
			w->instance, "vkDestroyDebugUtilsMessengerEXT");

	CHECK(vkDeviceWaitIdle(w->device));
	for (uint32_t n = 0; n < w->image_count; n++)
		vkDestroySemaphore(w->device, w->drawn[n], NULL);
	vkDestroySemaphore(w->device, w->acquired, NULL);
	vkDestroyFence(w->device, w->fence, NULL);
	vkDestroyBuffer(w->device, w->buffer, NULL);
	vkFreeMemory(w->device, w->memory, NULL);
	vkDestroyCommandPool(w->device, w->pool, NULL);
	vkDestroySwapchainKHR(w->device, w->chain, NULL);
	vkDestroyDevice(w->device, NULL);
	vkDestroySurfaceKHR(w->instance, w->surface, NULL);
	destroy(w->instance, w->messenger, NULL);
	vkDestroyInstance(w->instance, NULL);
	xcb_disconnect(w->display);
}

static void *run(void *unused)
{
	struct window w = { 0 };

	open_window(&w);
	open_instance(&w);
	open_device(&w);
	open_chain(&w);
	open_commands(&w);
	open_buffer(&w);
	if (is_special("stuck"))
		wait_for_later(&w);
	for (int n = 0; n < frames; n++)
		draw(&w, n);
	draw_labels(&w);
	close_all(&w);
	return NULL;
}

/* Return: the files that are open, and some more. */
static int open_files(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int count = 0;

	while (folder && readdir(folder))
		count++;
	closedir(folder);
	return count;
}

/* The loader unloads the layers each time. */
static void run_again(void)
{
	const int before = open_files();

	for (int n = 1; n < 10; n++)
		run(NULL);
	if (open_files() == before)
		return;
	fprintf(stderr, "%d files stay open\n", open_files() - before);
	exit(1);
}

int main(int argc, char **argv)
{
	const int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t all[MOST_THREADS];

	frames = argc > 1 ? atoi(argv[1]) : 0;
	special = argc > 3 ? argv[3] : NULL;
	if (argc < 2 || frames < 1 || threads < 1 || threads > MOST_THREADS) {
		fputs("usage: present FRAMES [THREADS [wrong | stuck | again]]\n", stderr);
		return 2;
	}
	for (int n = 0; n < threads; n++)
		if (pthread_create(&all[n], NULL, run, NULL))
			return 1;
	for (int n = 0; n < threads; n++)
		pthread_join(all[n], NULL);
	if (is_special("again"))
		run_again();
	printf("%d\n", finished);
	return messages ? 1 : 0;
}
