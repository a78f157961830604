//! Matrix units. In: a physical device. Out: whether it can run the matrix forms of kernels. Promise: true only for KHR cooperative
//! matrices of 16 x 16 x 16, halves in and f32 sums, by subgroups of 32 that shuffle, with the workgroups and shared memory that the forms take.
#![allow(unsafe_code)]

use ash::vk;
use std::mem::transmute;
use vulkano::VulkanObject;
use vulkano::device::physical::{PhysicalDevice, SubgroupFeatures};
use vulkano::shader::ShaderStages;

/// What a matrix form may take of a workgroup.
pub const MAX_THREADS: u32 = 512;
pub const MAX_SHARED_BYTES: u32 = 48 << 10;

pub(crate) fn present(physical: &PhysicalDevice) -> bool {
    let (p, have) = (physical.properties(), physical.supported_features());
    let stages = p.cooperative_matrix_supported_stages;
    physical.supported_extensions().khr_cooperative_matrix
        && have.cooperative_matrix
        && have.shader_float16
        && stages.is_some_and(|s| s.intersects(ShaderStages::COMPUTE))
        && p.subgroup_size == Some(32)
        && p.subgroup_supported_operations.is_some_and(|o| o.intersects(SubgroupFeatures::SHUFFLE))
        && p.max_compute_work_group_invocations >= MAX_THREADS
        && p.max_compute_shared_memory_size >= MAX_SHARED_BYTES
        && sizes(physical).iter().any(fits)
}

fn fits(size: &vk::CooperativeMatrixPropertiesKHR) -> bool {
    let (half, float) = (vk::ComponentTypeKHR::FLOAT16, vk::ComponentTypeKHR::FLOAT32);
    (size.m_size, size.n_size, size.k_size) == (16, 16, 16)
        && (size.a_type, size.b_type, size.c_type, size.result_type) == (half, half, float, float)
        && size.scope == vk::ScopeKHR::SUBGROUP
}

/// The sizes that the driver lists; empty when it or the loader has no such list.
fn sizes(physical: &PhysicalDevice) -> Vec<vk::CooperativeMatrixPropertiesKHR<'static>> {
    let instance = physical.instance();
    let name = c"vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR";
    // SAFETY: the instance is alive and the name ends in a zero byte.
    let Some(found) = (unsafe { instance.library().get_instance_proc_addr(instance.handle(), name.as_ptr()) }) else {
        return Vec::new();
    };
    // SAFETY: a function of this name has this type.
    let list = unsafe {
        transmute::<unsafe extern "system" fn(), vk::PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(found)
    };
    let mut count = 0;
    // SAFETY: the device belongs to the instance; without an array the call only counts.
    let counted = unsafe { list(physical.handle(), &mut count, std::ptr::null_mut()) };
    if counted != vk::Result::SUCCESS {
        return Vec::new();
    }
    let mut sizes = vec![vk::CooperativeMatrixPropertiesKHR::default(); count as usize];
    // SAFETY: the array has `count` elements with their type tags set.
    let listed = unsafe { list(physical.handle(), &mut count, sizes.as_mut_ptr()) };
    sizes.truncate(if listed == vk::Result::SUCCESS { count as usize } else { 0 });
    sizes
}
