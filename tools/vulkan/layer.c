// SPDX-License-Identifier: MIT
/* The interface of the Vulkan loader to the layer: chains of instances and devices. */
#include "layer.h"

#include <stdlib.h>
#include <string.h>

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && !strcmp(value, "1");
}

/* --- instances --------------------------------------------------------------- */

static bool enables(const VkInstanceCreateInfo *info, const char *extension)
{
	for (uint32_t n = 0; n < info->enabledExtensionCount; n++)
		if (!strcmp(info->ppEnabledExtensionNames[n], extension))
			return true;
	return false;
}

/* The loader's link to the layer below, among the structures that the application may add. */
static VkLayerInstanceCreateInfo *instance_link(const VkInstanceCreateInfo *info)
{
	const VkLayerInstanceCreateInfo *link = info->pNext;

	while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
			link->function != VK_LAYER_LINK_INFO))
		link = link->pNext;
	return (VkLayerInstanceCreateInfo *)(uintptr_t)link;
}

static VKAPI_ATTR VkResult VKAPI_CALL create_instance(const VkInstanceCreateInfo *info,
						      const VkAllocationCallbacks *allocator,
						      VkInstance *handle)
{
	VkLayerInstanceCreateInfo *link = instance_link(info);
	struct instance *instance = calloc(1, sizeof(*instance));
	PFN_vkCreateInstance create;
	VkResult result;

	if (!link || !instance) {
		free(instance);
		return link ? VK_ERROR_OUT_OF_HOST_MEMORY : VK_ERROR_INITIALIZATION_FAILED;
	}
	instance->get = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	create = (PFN_vkCreateInstance)instance->get(NULL, "vkCreateInstance");
	result = create ? create(info, allocator, handle) : VK_ERROR_INITIALIZATION_FAILED;
	if (result != VK_SUCCESS) {
		free(instance);
		return result;
	}
	instance->handle = *handle;
	instance->destroy = (PFN_vkDestroyInstance)instance->get(*handle, "vkDestroyInstance");
	instance->has_labels = enables(info, VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
	instance_add(instance);
	return VK_SUCCESS;
}

static VKAPI_ATTR void VKAPI_CALL destroy_instance(VkInstance handle,
						   const VkAllocationCallbacks *allocator)
{
	struct instance *instance;

	if (!handle)
		return;
	instance = instance_of(handle);
	instance_remove(instance);
	instance->destroy(handle, allocator);
	free(instance);
}

/* --- devices ----------------------------------------------------------------- */

static VkLayerDeviceCreateInfo *device_link(const VkDeviceCreateInfo *info)
{
	const VkLayerDeviceCreateInfo *link = info->pNext;

	while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO ||
			link->function != VK_LAYER_LINK_INFO))
		link = link->pNext;
	return (VkLayerDeviceCreateInfo *)(uintptr_t)link;
}

static void device_free(struct device *device)
{
	pthread_mutex_destroy(&device->lock);
	free(device->recordings);
	free(device);
}

static struct device *device_new(bool has_labels)
{
	struct device *device = calloc(1, sizeof(*device));

	if (!device)
		return NULL;
	device->has_labels = has_labels;
	device->waits = is_set("PERFCTR_VULKAN_WAIT");
	pthread_mutex_init(&device->lock, NULL);
	if (!has_labels || !is_set("PERFCTR_VULKAN_RECORDING"))
		return device;
	device->recordings = calloc(RECORDED_AT_ONCE, sizeof(*device->recordings));
	if (device->recordings)
		return device;
	device_free(device);
	return NULL;
}

static void complete(struct device *device, VkDevice handle)
{
	device->handle = handle;
#define GET(name) device->next.name = (PFN_vk##name)device->get(handle, "vk" #name);
	FRAME_FUNCTIONS(GET)
	LABEL_FUNCTIONS(GET)
	RECORDING_FUNCTIONS(GET)
	CALLED_FUNCTIONS(GET)
#undef GET
	device_add(device);
}

static VKAPI_ATTR VkResult VKAPI_CALL create_device(VkPhysicalDevice physical,
						    const VkDeviceCreateInfo *info,
						    const VkAllocationCallbacks *allocator,
						    VkDevice *handle)
{
	const struct instance *instance = instance_of(physical);
	VkLayerDeviceCreateInfo *link = device_link(info);
	PFN_vkCreateDevice create;
	struct device *device;
	VkResult result;

	if (!link)
		return VK_ERROR_INITIALIZATION_FAILED;
	device = device_new(instance->has_labels);
	if (!device)
		return VK_ERROR_OUT_OF_HOST_MEMORY;
	create = (PFN_vkCreateDevice)link->u.pLayerInfo->pfnNextGetInstanceProcAddr(
		instance->handle, "vkCreateDevice");
	device->get = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
	link->u.pLayerInfo = link->u.pLayerInfo->pNext;
	result = create ? create(physical, info, allocator, handle) :
			  VK_ERROR_INITIALIZATION_FAILED;
	if (result == VK_SUCCESS)
		complete(device, *handle);
	else
		device_free(device);
	return result;
}

static VKAPI_ATTR void VKAPI_CALL destroy_device(VkDevice handle,
						 const VkAllocationCallbacks *allocator)
{
	struct device *device;

	if (!handle)
		return;
	device = device_of(handle);
	device_release(device);
	device_remove(device);
	device->next.DestroyDevice(handle, allocator);
	device_free(device);
}

/* --- names of functions ------------------------------------------------------ */

/* What an application gets for a name depends on what it enabled. */
static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc_addr(VkDevice handle,
								     const char *name)
{
	const struct device *device = device_of(handle);
	const struct own_function *own = own_function(name);
	PFN_vkVoidFunction below = device->get(handle, name);

	if (!strcmp(name, "vkGetDeviceProcAddr"))
		return (PFN_vkVoidFunction)get_device_proc_addr;
	if (!strcmp(name, "vkDestroyDevice"))
		return (PFN_vkVoidFunction)destroy_device;
	/* labels also for a driver without them */
	if (own &&
	    ((own->kind == OWN_FRAME && below) || (own->kind == OWN_LABEL && device->has_labels) ||
	     (own->kind == OWN_RECORDING && device->recordings)))
		return own->function;
	return below;
}

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_instance_proc_addr(VkInstance handle,
								       const char *name)
{
	static const struct {
		const char *name;
		PFN_vkVoidFunction function;
		bool is_global;
	} own[] = {
		{ "vkGetInstanceProcAddr", (PFN_vkVoidFunction)get_instance_proc_addr, true },
		{ "vkCreateInstance", (PFN_vkVoidFunction)create_instance, true },
		{ "vkDestroyInstance", (PFN_vkVoidFunction)destroy_instance, false },
		{ "vkCreateDevice", (PFN_vkVoidFunction)create_device, false },
		{ "vkGetDeviceProcAddr", (PFN_vkVoidFunction)get_device_proc_addr, false },
		{ "vkDestroyDevice", (PFN_vkVoidFunction)destroy_device, false },
	};
	PFN_vkVoidFunction function;
	const struct own_function *replaced;
	const struct instance *instance;

	for (size_t n = 0; n < sizeof(own) / sizeof(own[0]); n++)
		if ((handle || own[n].is_global) && !strcmp(name, own[n].name))
			return own[n].function;
	if (!handle)
		return NULL;
	instance = instance_of(handle);
	function = instance->get(handle, name);
	if (!function)
		return NULL;
	/* for any device: these find out what is asked of it */
	replaced = own_function(name);
	if (replaced && (replaced->kind == OWN_FRAME ||
			 (instance->has_labels &&
			  (replaced->kind == OWN_LABEL || is_set("PERFCTR_VULKAN_RECORDING")))))
		return replaced->function;
	return function;
}

__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface)
{
	if (interface->loaderLayerInterfaceVersion < 2)
		return VK_ERROR_INITIALIZATION_FAILED;
	interface->loaderLayerInterfaceVersion = 2;
	interface->pfnGetInstanceProcAddr = get_instance_proc_addr;
	interface->pfnGetDeviceProcAddr = get_device_proc_addr;
	interface->pfnGetPhysicalDeviceProcAddr = NULL;
	return VK_SUCCESS;
}
