//! What a device can do. In: a physical device. Out: limits that programs are held against, queues, and the features and extensions to
//! open it with. Promise: nothing is enabled that the device does not have.

use crate::matrix;
use vulkano::device::physical::{DriverId, PhysicalDevice, PhysicalDeviceType};
use vulkano::device::{DeviceExtensions, DeviceFeatures, QueueFamilyProperties, QueueFlags};
use vulkano::memory::{MemoryHeap, MemoryHeapFlags};

/// Limits that a program is held against.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Limits {
    /// Largest single buffer with its allocation, in bytes.
    pub max_buffer_bytes: u64,
    pub heap_bytes: u64,
    /// Memory of the host that the device can use, in bytes.
    pub host_heap_bytes: u64,
    /// The device's memory is the host's, so that nothing is gained by copying.
    pub unified: bool,
    /// Copies can run beside kernels, on a queue of their own.
    pub copies_aside: bool,
    /// Where memory of the host must begin and end that the device uses where it is; zero: it cannot.
    pub import_align: u64,
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

pub(super) fn queue_family(physical: &PhysicalDevice) -> Option<u32> {
    let families = physical.queue_family_properties();
    families.iter().position(|f| f.queue_flags.intersects(QueueFlags::COMPUTE)).map(|i| i as u32)
}

/// The family, and the number within it, of a queue that copies beside the compute queue; the copy engine's own where there is one.
pub(super) fn copy_queue(physical: &PhysicalDevice, compute: u32) -> Option<(u32, u32)> {
    let families = physical.queue_family_properties();
    let kernels = QueueFlags::COMPUTE | QueueFlags::GRAPHICS;
    let other = |own_engine: bool| {
        let fits = |f: &QueueFamilyProperties| match own_engine {
            true => f.queue_flags.intersects(QueueFlags::TRANSFER) && !f.queue_flags.intersects(kernels),
            false => f.queue_flags.intersects(kernels),
        };
        families.iter().enumerate().position(|(i, f)| i as u32 != compute && fits(f)).map(|i| (i as u32, 0))
    };
    let second = || (families.get(compute as usize)?.queue_count > 1).then_some((compute, 1));
    other(true).or_else(|| other(false)).or_else(second)
}

fn unified(physical: &PhysicalDevice) -> bool {
    matches!(physical.properties().device_type, PhysicalDeviceType::IntegratedGpu | PhysicalDeviceType::Cpu)
}

/// Bytes of the largest heap of the host.
fn host_heap_bytes(physical: &PhysicalDevice) -> u64 {
    let heaps = &physical.memory_properties().memory_heaps;
    let host = |h: &&MemoryHeap| !h.flags.intersects(MemoryHeapFlags::DEVICE_LOCAL);
    heaps.iter().filter(host).map(|h| h.size).max().unwrap_or_else(|| heap_bytes(physical))
}

/// Zero where host memory cannot be used in place. NVIDIA's driver has the extension and refuses read-only pages of files; asking it once
/// was followed by allocations that failed (580.159, H200), so it is not asked.
fn import_align(physical: &PhysicalDevice) -> u64 {
    let properties = physical.properties();
    let refuses = properties.driver_id == Some(DriverId::NvidiaProprietary);
    let align = properties.min_imported_host_pointer_alignment.unwrap_or(0);
    if physical.supported_extensions().ext_external_memory_host && !refuses { align } else { 0 }
}

pub(super) fn heap_bytes(physical: &PhysicalDevice) -> u64 {
    let heaps = &physical.memory_properties().memory_heaps;
    let local = |h: &&MemoryHeap| h.flags.intersects(MemoryHeapFlags::DEVICE_LOCAL);
    heaps.iter().filter(local).map(|h| h.size).max().unwrap_or(0)
}

pub(super) fn limits(physical: &PhysicalDevice, family: u32) -> Limits {
    let p = physical.properties();
    let largest = [p.max_memory_allocation_size, p.max_buffer_size];
    let timed = physical.queue_family_properties()[family as usize].timestamp_valid_bits.is_some();
    Limits {
        max_buffer_bytes: largest.into_iter().flatten().min().unwrap_or(1 << 30),
        heap_bytes: heap_bytes(physical),
        host_heap_bytes: host_heap_bytes(physical),
        unified: unified(physical),
        copies_aside: copy_queue(physical, family).is_some(),
        import_align: import_align(physical),
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
pub(super) fn features(have: &DeviceFeatures) -> DeviceFeatures {
    DeviceFeatures {
        buffer_device_address: true,
        maintenance4: true,
        synchronization2: true,
        timeline_semaphore: true,
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

/// Whether the driver tells what it made of a kernel.
pub(super) fn tells_statistics(physical: &PhysicalDevice) -> bool {
    let extension = physical.supported_extensions().khr_pipeline_executable_properties;
    extension && physical.supported_features().pipeline_executable_info
}

pub(super) fn extensions(have: &DeviceExtensions) -> DeviceExtensions {
    DeviceExtensions {
        ext_external_memory_host: have.ext_external_memory_host,
        ext_memory_budget: have.ext_memory_budget,
        khr_cooperative_matrix: have.khr_cooperative_matrix,
        khr_portability_subset: have.khr_portability_subset,
        ..DeviceExtensions::empty()
    }
}
