//! The Vulkan device. In: a wish (none, a number, a name). Out: an open device with one compute queue and its limits. Promise: a
//! missing loader, driver or feature is one clear line; a CPU device is never taken silently.

use crate::error::{Error, Kind, Result};
use crate::ledger::{Allocated, Ledger};
use crate::matrix;
use std::sync::{Arc, Mutex, PoisonError};
use vulkano::command_buffer::allocator::StandardCommandBufferAllocator;
use vulkano::device::physical::{PhysicalDevice, PhysicalDeviceType};
use vulkano::device::{DeviceCreateInfo, DeviceExtensions, DeviceFeatures, Queue, QueueCreateInfo, QueueFlags};
use vulkano::instance::debug::{
    DebugUtilsMessageSeverity, DebugUtilsMessageType, DebugUtilsMessenger, DebugUtilsMessengerCallback,
    DebugUtilsMessengerCreateInfo,
};
use vulkano::instance::{Instance, InstanceCreateFlags, InstanceCreateInfo, InstanceExtensions};
use vulkano::{Version, VulkanLibrary, VulkanObject};

/// Which device is wanted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Pick {
    /// Discrete before integrated before virtual; a CPU device only when there is nothing else.
    #[default]
    Auto,
    /// Number in the list of [`list`].
    Index(usize),
    /// Part of a name, upper or lower case.
    Name(String),
}

impl Pick {
    /// Reads `--device`: a number or a part of a name.
    pub fn parse(text: &str) -> Pick {
        match text.trim() {
            "" => Pick::Auto,
            t => t.parse().map_or_else(|_| Pick::Name(t.to_string()), Pick::Index),
        }
    }
}

/// How to open a device.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub pick: Pick,
    /// Loads the Khronos validation layer; its messages are kept for [`Device::validation_messages`].
    pub validation: bool,
}

/// One line of the device list.
#[derive(Clone, Debug)]
pub struct Info {
    pub name: String,
    /// `discrete`, `integrated`, `virtual`, `cpu`, `other`.
    pub kind: &'static str,
    pub driver: String,
    pub api: String,
    /// Bytes of the largest device-local heap.
    pub heap_bytes: u64,
    /// It has the matrix units that kernels have forms for.
    pub matrix: bool,
    /// What the device lacks to run any program; empty when it is fit.
    pub lacks: Vec<String>,
}

/// Limits that a program is held against.
#[derive(Clone, PartialEq, Debug)]
pub struct Limits {
    /// Largest single buffer with its allocation, in bytes.
    pub max_buffer_bytes: u64,
    pub heap_bytes: u64,
    pub max_groups: [u32; 3],
    pub push_bytes: u32,
    pub shared_bytes: u32,
    pub subgroup: u32,
    pub max_invocations: u32,
    /// Kernels run in their form for matrix units, where they have one (see `crate::matrix`).
    pub matrix: bool,
    /// Nanoseconds a timestamp tick; zero when the queue has no timestamps.
    pub tick_ns: f32,
}

/// An open device; clones share it.
#[derive(Clone)]
pub struct Device {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub vk: Arc<vulkano::device::Device>,
    pub queue: Arc<Queue>,
    pub commands: Arc<StandardCommandBufferAllocator>,
    pub limits: Limits,
    info: Info,
    warning: Option<String>,
    pub ledger: Ledger,
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
        let family = queue_family(&physical)
            .ok_or_else(|| Error::new(Kind::Unfit, format!("device '{}' has no compute queue", info.name)))?;
        let limits = limits(&physical, family);
        let (vk, mut queues) = vulkano::device::Device::new(
            physical.clone(),
            DeviceCreateInfo {
                queue_create_infos: vec![QueueCreateInfo { queue_family_index: family, ..Default::default() }],
                enabled_features: features(physical.supported_features()),
                enabled_extensions: extensions(physical.supported_extensions()),
                ..Default::default()
            },
        )
        .map_err(|e| Error::vulkan(&format!("opening device '{}'", info.name), e))?;
        let queue = queues.next().ok_or_else(|| Error::new(Kind::Other, "the driver gave no queue"))?;
        let commands = Arc::new(StandardCommandBufferAllocator::new(vk.clone(), Default::default()));
        let only_cpu = info.kind == "cpu" && options.pick == Pick::Auto;
        let warning = only_cpu.then(|| format!("no GPU found: running on the CPU device '{}'", info.name));
        let inner = Inner {
            vk,
            queue,
            commands,
            limits,
            info,
            warning,
            ledger: Ledger::default(),
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

fn devices(instance: &Arc<Instance>) -> Result<Vec<Arc<PhysicalDevice>>> {
    let all: Vec<_> = instance
        .enumerate_physical_devices()
        .map_err(|e| Error { kind: Kind::NoDevice, ..Error::vulkan("listing devices", e) })?
        .collect();
    if all.is_empty() {
        return Err(Error::new(Kind::NoDevice, "the Vulkan loader knows no device")
            .hint("install a driver (mesa-vulkan-drivers runs on any CPU)"));
    }
    Ok(all)
}

fn describe(physical: &Arc<PhysicalDevice>) -> Info {
    let p = physical.properties();
    let kind = match p.device_type {
        PhysicalDeviceType::DiscreteGpu => "discrete",
        PhysicalDeviceType::IntegratedGpu => "integrated",
        PhysicalDeviceType::VirtualGpu => "virtual",
        PhysicalDeviceType::Cpu => "cpu",
        _ => "other",
    };
    let driver = match (&p.driver_name, &p.driver_info) {
        (Some(name), Some(info)) => format!("{name} {info}"),
        (Some(name), None) => name.clone(),
        _ => "unknown driver".into(),
    };
    Info {
        name: p.device_name.clone(),
        kind,
        driver,
        api: physical.api_version().to_string(),
        heap_bytes: heap_bytes(physical),
        matrix: matrix::present(physical),
        lacks: lacks(physical),
    }
}

fn lacks(physical: &PhysicalDevice) -> Vec<String> {
    let have = physical.supported_features();
    let mut out = Vec::new();
    if physical.api_version() < Version::V1_3 {
        out.push(format!("Vulkan 1.3 (it has {})", physical.api_version()));
        return out;
    }
    for (name, present) in [
        ("bufferDeviceAddress", have.buffer_device_address),
        ("maintenance4", have.maintenance4),
        ("synchronization2", have.synchronization2),
    ] {
        if !present {
            out.push(name.to_string());
        }
    }
    if queue_family(physical).is_none() {
        out.push("a compute queue".into());
    }
    out
}

/// The index of the device that `pick` means among `infos`.
fn choose(infos: &[Info], pick: &Pick) -> Result<usize> {
    let names = || infos.iter().enumerate().map(|(i, d)| format!("{i}: {}", d.name)).collect::<Vec<_>>().join(", ");
    match pick {
        Pick::Index(i) if *i < infos.len() => Ok(*i),
        Pick::Index(i) => {
            Err(Error::new(Kind::NoDevice, format!("there is no device {i}")).hint(format!("choose among {}", names())))
        }
        Pick::Name(part) => {
            let part_lower = part.to_lowercase();
            infos.iter().position(|d| d.name.to_lowercase().contains(&part_lower)).ok_or_else(|| {
                Error::new(Kind::NoDevice, format!("no device is called '{part}'"))
                    .hint(format!("choose among {}", names()))
            })
        }
        Pick::Auto => {
            let rank = |d: &Info| {
                let kinds = ["discrete", "integrated", "virtual", "other", "cpu"];
                (!d.lacks.is_empty(), kinds.iter().position(|k| *k == d.kind))
            };
            let best = infos.iter().enumerate().min_by_key(|(i, d)| (rank(d), *i));
            best.map(|(i, _)| i).ok_or_else(|| Error::new(Kind::NoDevice, "the Vulkan loader knows no device"))
        }
    }
}

fn queue_family(physical: &PhysicalDevice) -> Option<u32> {
    let families = physical.queue_family_properties();
    families.iter().position(|f| f.queue_flags.intersects(QueueFlags::COMPUTE)).map(|i| i as u32)
}

fn heap_bytes(physical: &PhysicalDevice) -> u64 {
    let heaps = &physical.memory_properties().memory_heaps;
    let local = |h: &&vulkano::memory::MemoryHeap| h.flags.intersects(vulkano::memory::MemoryHeapFlags::DEVICE_LOCAL);
    heaps.iter().filter(local).map(|h| h.size).max().unwrap_or(0)
}

fn limits(physical: &PhysicalDevice, family: u32) -> Limits {
    let p = physical.properties();
    let largest = [p.max_memory_allocation_size, p.max_buffer_size];
    let timed = physical.queue_family_properties()[family as usize].timestamp_valid_bits.is_some();
    Limits {
        max_buffer_bytes: largest.into_iter().flatten().min().unwrap_or(1 << 30),
        heap_bytes: heap_bytes(physical),
        max_groups: p.max_compute_work_group_count,
        push_bytes: p.max_push_constants_size,
        shared_bytes: p.max_compute_shared_memory_size,
        subgroup: p.subgroup_size.unwrap_or(1),
        max_invocations: p.max_compute_work_group_invocations,
        matrix: matrix::present(physical),
        tick_ns: if timed { p.timestamp_period } else { 0.0 },
    }
}

/// Required features, and every optional one that a kernel variant may use where the device has it. A kernel that needs an
/// absent one is refused by name when its module is made.
fn features(have: &DeviceFeatures) -> DeviceFeatures {
    DeviceFeatures {
        buffer_device_address: true,
        maintenance4: true,
        synchronization2: true,
        storage_buffer16_bit_access: have.storage_buffer16_bit_access,
        storage_buffer8_bit_access: have.storage_buffer8_bit_access,
        shader_float16: have.shader_float16,
        shader_int8: have.shader_int8,
        shader_int16: have.shader_int16,
        shader_int64: have.shader_int64,
        shader_integer_dot_product: have.shader_integer_dot_product,
        vulkan_memory_model: have.vulkan_memory_model,
        vulkan_memory_model_device_scope: have.vulkan_memory_model && have.vulkan_memory_model_device_scope,
        subgroup_size_control: have.subgroup_size_control,
        compute_full_subgroups: have.compute_full_subgroups,
        cooperative_matrix: have.cooperative_matrix,
        ..DeviceFeatures::empty()
    }
}

fn extensions(have: &DeviceExtensions) -> DeviceExtensions {
    DeviceExtensions {
        ext_memory_budget: have.ext_memory_budget,
        khr_cooperative_matrix: have.khr_cooperative_matrix,
        khr_portability_subset: have.khr_portability_subset,
        ..DeviceExtensions::empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(name: &str, kind: &'static str, lacks: &[&str]) -> Info {
        let lacks = lacks.iter().map(|s| s.to_string()).collect();
        Info { name: name.into(), kind, driver: String::new(), api: "1.3".into(), heap_bytes: 0, matrix: false, lacks }
    }

    #[test]
    fn a_discrete_device_is_taken_before_the_others() {
        let all = [info("soft", "cpu", &[]), info("apu", "integrated", &[]), info("card", "discrete", &[])];
        assert_eq!(choose(&all, &Pick::Auto).unwrap(), 2);
    }

    #[test]
    fn a_fit_cpu_device_is_taken_before_an_unfit_card() {
        let all = [info("old card", "discrete", &["Vulkan 1.3"]), info("soft", "cpu", &[])];
        assert_eq!(choose(&all, &Pick::Auto).unwrap(), 1);
    }

    #[test]
    fn a_name_may_be_a_part_in_any_case_and_a_wrong_one_lists_the_choices() {
        let all = [info("llvmpipe (LLVM 15)", "cpu", &[]), info("H200", "discrete", &[])];
        assert_eq!(choose(&all, &Pick::parse("LLVM")).unwrap(), 0);
        assert_eq!(choose(&all, &Pick::parse("1")).unwrap(), 1);
        let error = choose(&all, &Pick::parse("radeon")).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("1: H200"), "{error}");
        assert!(choose(&all, &Pick::parse("7")).unwrap_err().to_string().contains("no device 7"));
    }
}
