//! The Vulkan device. In: a wish (none, a number, a name). Out: an open device with one compute queue and its limits. Promise: a
//! missing loader, driver or feature is one clear line; a CPU device is never taken silently.

mod abilities;
mod pick;

use crate::error::{Error, Kind, Result};
use crate::kept::{Kept, Place};
use crate::ledger::{Allocated, Ledger, Purpose};
use abilities::{copy_queue, extensions, features, limits, queue_family, tells_statistics};
use pick::{choose, describe, devices};
use std::sync::{Arc, Mutex, PoisonError};
use vulkano::command_buffer::allocator::StandardCommandBufferAllocator;
use vulkano::device::physical::PhysicalDevice;
use vulkano::device::{DeviceCreateInfo, DeviceExtensions, DeviceFeatures, Queue, QueueCreateInfo};
use vulkano::instance::debug::{
    DebugUtilsMessageSeverity, DebugUtilsMessageType, DebugUtilsMessenger, DebugUtilsMessengerCallback,
    DebugUtilsMessengerCreateInfo,
};
use vulkano::instance::{Instance, InstanceCreateFlags, InstanceCreateInfo, InstanceExtensions};
use vulkano::sync::Sharing;
use vulkano::{Version, VulkanLibrary, VulkanObject};

/// How to open a device.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub pick: Pick,
    /// Loads the Khronos validation layer; its messages are kept for [`Device::validation_messages`].
    pub validation: bool,
    /// Leaves host memory where it is alone, as on a device that cannot use it.
    pub no_import: bool,
    /// Copies go through the compute queue, as on a device that has no other.
    pub one_queue: bool,
    /// For what the driver tells of a kernel's machine code (`crate::executables`).
    pub statistics: bool,
    /// Where compiled pipelines are kept from start to start (`crate::kept`); none keeps nothing.
    pub kept: Option<Place>,
}

pub use abilities::Limits;
pub use pick::{Info, Pick};

/// An open device; clones share it.
#[derive(Clone)]
pub struct Device {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub vk: Arc<vulkano::device::Device>,
    pub queue: Arc<Queue>,
    /// For copies beside kernels; the same queue where there is no other.
    pub copy_queue: Arc<Queue>,
    pub commands: Arc<StandardCommandBufferAllocator>,
    pub limits: Limits,
    info: Info,
    warning: Option<String>,
    pub ledger: Ledger,
    pub kept: Option<Kept>,
    messages: Arc<Mutex<Vec<String>>>,
    _messenger: Option<DebugUtilsMessenger>,
}

/// All devices, in the order in which `Pick::Index` counts.
pub fn list() -> Result<Vec<Info>> {
    let instance = instance(false)?;
    Ok(devices(&instance)?.iter().map(describe).collect())
}

impl Device {
    /// Opens a device. A warning (a CPU device was taken because there is no other) waits in [`Device::warning`].
    pub fn open(options: &Options) -> Result<Device> {
        let instance = instance(options.validation)?;
        let messages = Arc::new(Mutex::new(Vec::new()));
        let messenger = if options.validation { Some(listen(&instance, &messages)?) } else { None };
        let all = devices(&instance)?;
        let infos: Vec<Info> = all.iter().map(describe).collect();
        let index = choose(&infos, &options.pick)?;
        let (physical, info) = (all[index].clone(), infos[index].clone());
        if !info.lacks.is_empty() {
            return Err(Error::new(Kind::Unfit, format!("device '{}' lacks {}", info.name, info.lacks.join(", ")))
                .hint("choose another with --device (see --list-devices)"));
        }
        if options.statistics && !tells_statistics(&physical) {
            let what = format!("device '{}' lacks VK_KHR_pipeline_executable_properties", info.name);
            return Err(Error::new(Kind::Unfit, what).hint("its driver tells nothing of registers"));
        }
        let family = queue_family(&physical)
            .ok_or_else(|| Error::new(Kind::Unfit, format!("device '{}' has no compute queue", info.name)))?;
        let aside = copy_queue(&physical, family).filter(|_| !options.one_queue);
        let mut limits = limits(&physical, family);
        limits.copies_aside = aside.is_some();
        if options.no_import {
            limits.import_align = 0;
        }
        let wanted = wanted(&physical, options.statistics, queue_infos(family, aside));
        let (vk, queues) = vulkano::device::Device::new(physical.clone(), wanted)
            .map_err(|e| Error::vulkan(&format!("opening device '{}'", info.name), e))?;
        let queues: Vec<Arc<Queue>> = queues.collect();
        let no_queue = || Error::new(Kind::Other, "the driver gave no queue");
        let get = |(family, index): (u32, u32)| {
            queues.iter().find(|q| (q.queue_family_index(), q.queue_index()) == (family, index)).cloned()
        };
        let queue = get((family, 0)).ok_or_else(no_queue)?;
        let copy_queue = get(aside.unwrap_or((family, 0))).ok_or_else(no_queue)?;
        let commands = Arc::new(StandardCommandBufferAllocator::new(vk.clone(), Default::default()));
        let only_cpu = info.kind == "cpu" && options.pick == Pick::Auto;
        let warning = only_cpu.then(|| format!("no GPU found: running on the CPU device '{}'", info.name));
        let kept = options.kept.as_ref().and_then(|place| Kept::open(place, &vk));
        let inner = Inner {
            vk,
            queue,
            copy_queue,
            commands,
            limits,
            info,
            warning,
            ledger: Ledger::default(),
            kept,
            messages,
            _messenger: messenger,
        };
        Ok(Device { inner: Arc::new(inner) })
    }

    pub fn info(&self) -> &Info {
        &self.inner.info
    }

    pub fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    /// Keeps what was compiled for the next start. A cache that cannot be written costs time then, and is no failure now.
    pub(crate) fn keep(&self) {
        if let Some(kept) = &self.inner.kept {
            kept.store(&self.inner.vk);
        }
    }

    /// Which queues use a buffer.
    pub(crate) fn sharing<I: FromIterator<u32> + IntoIterator<Item = u32>>(&self, purpose: Purpose) -> Sharing<I> {
        let families = [&self.inner.queue, &self.inner.copy_queue].map(|q| q.queue_family_index());
        match purpose {
            Purpose::Host | Purpose::Ring if families[0] != families[1] => {
                Sharing::Concurrent(families.into_iter().collect())
            }
            _ => Sharing::Exclusive,
        }
    }

    /// Bytes of buffers that live on this device, by our own count.
    pub fn allocated(&self) -> Allocated {
        self.inner.ledger.read()
    }

    /// Bytes of device-local memory that the driver says this process uses; none where it does not say (VK_EXT_memory_budget).
    #[allow(unsafe_code)]
    pub fn driver_bytes(&self) -> Option<u64> {
        let vk = &self.inner.vk;
        if !vk.enabled_extensions().ext_memory_budget {
            return None;
        }
        let physical = vk.physical_device();
        let mut budget = ash::vk::PhysicalDeviceMemoryBudgetPropertiesEXT::default();
        let mut properties = ash::vk::PhysicalDeviceMemoryProperties2::default().push_next(&mut budget);
        let read = physical.instance().fns().v1_1.get_physical_device_memory_properties2;
        // SAFETY: the handle is alive, both structures are initialised and chained, and the device supports the extension.
        unsafe { read(physical.handle(), &mut properties) };
        let heaps = &physical.memory_properties().memory_heaps;
        let local =
            |h: &vulkano::memory::MemoryHeap| h.flags.intersects(vulkano::memory::MemoryHeapFlags::DEVICE_LOCAL);
        Some(heaps.iter().zip(budget.heap_usage).filter(|(h, _)| local(h)).map(|(_, bytes)| bytes).sum())
    }

    /// One line that the user should see on stderr.
    pub fn warning(&self) -> Option<&str> {
        self.inner.warning.as_deref()
    }

    /// What the validation layer said so far; empty without it.
    pub fn validation_messages(&self) -> Vec<String> {
        self.inner.messages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What a device is opened with; `statistics` are those of kernels.
fn wanted(physical: &PhysicalDevice, statistics: bool, queue_create_infos: Vec<QueueCreateInfo>) -> DeviceCreateInfo {
    let features = features(physical.supported_features());
    let extensions = extensions(physical.supported_extensions());
    DeviceCreateInfo {
        queue_create_infos,
        enabled_features: DeviceFeatures { pipeline_executable_info: statistics, ..features },
        enabled_extensions: DeviceExtensions { khr_pipeline_executable_properties: statistics, ..extensions },
        ..Default::default()
    }
}

/// The compute queue, and the one for copies where that is another.
fn queue_infos(family: u32, aside: Option<(u32, u32)>) -> Vec<QueueCreateInfo> {
    let queues = |family: u32, count: usize| QueueCreateInfo {
        queue_family_index: family,
        queues: vec![0.5; count],
        ..Default::default()
    };
    match aside {
        None => vec![queues(family, 1)],
        Some((other, index)) if other == family => vec![queues(family, index as usize + 1)],
        Some((other, _)) => vec![queues(family, 1), queues(other, 1)],
    }
}

const VALIDATION_LAYER: &str = "VK_LAYER_KHRONOS_validation";

fn instance(validation: bool) -> Result<Arc<Instance>> {
    let library = VulkanLibrary::new().map_err(|e| {
        Error::new(Kind::NoDevice, format!("no Vulkan loader: {e}"))
            .hint("install libvulkan1 and a driver (mesa-vulkan-drivers runs on any CPU)")
    })?;
    let mut info = InstanceCreateInfo {
        flags: InstanceCreateFlags::ENUMERATE_PORTABILITY,
        application_name: Some("onnxcast".into()),
        max_api_version: Some(Version::V1_3),
        ..Default::default()
    };
    if validation {
        let mut layers = library.layer_properties().map_err(|e| Error::vulkan("listing layers", e))?;
        if !layers.any(|l| l.name() == VALIDATION_LAYER) {
            return Err(Error::new(Kind::NoDevice, format!("the layer {VALIDATION_LAYER} is not installed"))
                .hint("install vulkan-validationlayers"));
        }
        info.enabled_layers = vec![VALIDATION_LAYER.into()];
        info.enabled_extensions = InstanceExtensions { ext_debug_utils: true, ..Default::default() };
    }
    Instance::new(library, info)
        .map_err(|e| {
            Error::vulkan("starting Vulkan", e)
                .hint("is a Vulkan driver installed? (mesa-vulkan-drivers runs on any CPU)")
        })
        .map_err(|e| Error { kind: Kind::NoDevice, ..e })
}

fn listen(instance: &Arc<Instance>, messages: &Arc<Mutex<Vec<String>>>) -> Result<DebugUtilsMessenger> {
    let sink = messages.clone();
    // SAFETY: the callback makes no Vulkan call; it only copies the text.
    #[allow(unsafe_code)]
    let callback = unsafe {
        DebugUtilsMessengerCallback::new(move |_, _, data| {
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(data.message.to_string());
        })
    };
    let info = DebugUtilsMessengerCreateInfo {
        message_severity: DebugUtilsMessageSeverity::ERROR | DebugUtilsMessageSeverity::WARNING,
        message_type: DebugUtilsMessageType::VALIDATION | DebugUtilsMessageType::PERFORMANCE,
        ..DebugUtilsMessengerCreateInfo::user_callback(callback)
    };
    DebugUtilsMessenger::new(instance.clone(), info).map_err(|e| Error::vulkan("listening to the validation layer", e))
}
