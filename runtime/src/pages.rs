//! The pool's pages as device memory. In: a mapped file and where tensors lie in it. Out: buffers over those very pages. Promise: nothing
//! is copied, the mapping outlives the buffers, and a driver that does not take such pages is told by an error.
#![allow(unsafe_code)]

use crate::device::Device;
use crate::error::{Error, Result};
use crate::ledger::Purpose;
use crate::memory::{Buffer, Region, memory_type};
use ash::vk;
use memmap2::Mmap;
use std::ops::Range;
use std::sync::Arc;
use vulkano::VulkanObject;
use vulkano::buffer::sys::RawBuffer;
use vulkano::buffer::{BufferCreateInfo, BufferUsage};
use vulkano::memory::{ExternalMemoryHandleType, ExternalMemoryHandleTypes};

/// The least that a mapping consists of, on every system that this runs on.
const PAGE: usize = 4096;
/// Unused bytes between two tensors that one segment spans, rather than being cut there.
const GAP: usize = 1 << 20;

/// A mapped pool.
#[derive(Clone)]
pub(crate) struct Pages {
    pub map: Arc<Mmap>,
    /// Where the tensors lie in it, in pool order.
    pub tensors: Vec<Range<usize>>,
}

impl Pages {
    /// Address ranges that cover some of the tensors, in multiples of `align`, and where in them each of these lies. None where the
    /// mapping does not reach to such a multiple, or a tensor is larger than `most`.
    pub(crate) fn segments(
        &self,
        tensors: &[usize],
        align: u64,
        most: u64,
    ) -> Option<(Vec<Range<usize>>, Vec<Region>)> {
        let base = self.map.as_ptr() as usize;
        let whole = base / PAGE * PAGE..(base + self.map.len()).next_multiple_of(PAGE);
        let ranges: Vec<Range<usize>> = tensors
            .iter()
            .map(|&i| self.tensors.get(i).map(|r| base + r.start..base + r.end))
            .collect::<Option<_>>()?;
        cover(&ranges, whole, usize::try_from(align).ok()?, usize::try_from(most).unwrap_or(usize::MAX))
    }
}

fn cover(
    ranges: &[Range<usize>],
    whole: Range<usize>,
    align: usize,
    most: usize,
) -> Option<(Vec<Range<usize>>, Vec<Region>)> {
    let (mut segments, mut regions): (Vec<Range<usize>>, Vec<Region>) = (Vec::new(), Vec::new());
    for range in ranges {
        let (start, end) = (range.start / align * align, range.end.max(range.start + 4).next_multiple_of(align));
        if start < whole.start || end > whole.end || end - start > most {
            return None;
        }
        match segments.last_mut() {
            Some(last) if start >= last.start && start <= last.end + GAP && end.max(last.end) - last.start <= most => {
                last.end = end.max(last.end);
            }
            _ => segments.push(start..end),
        }
        let segment = segments.len() - 1;
        let offset = (range.start - segments[segment].start) as u64;
        regions.push(Region { segment, offset, bytes: range.len() as u64 });
    }
    Some((segments, regions))
}

/// A buffer over the pages from address `start` on.
pub(crate) fn import(device: &Device, pages: &Pages, start: usize, bytes: u64) -> Result<Buffer> {
    let doing = "using the pool's pages in place";
    let vk = device.inner.vk.clone();
    let kind = vk::ExternalMemoryHandleTypeFlags::HOST_ALLOCATION_EXT;
    let pointer = start as *mut std::ffi::c_void;
    let failed = |result: vk::Result| Error::vulkan(doing, vulkano::VulkanError::from(result));
    let mut properties = vk::MemoryHostPointerPropertiesEXT::default();
    let get = vk.fns().ext_external_memory_host.get_memory_host_pointer_properties_ext;
    // SAFETY: the device was opened with the extension; the pointer is that of mapped pages, which `pages` keeps.
    unsafe { get(vk.handle(), kind, pointer, &mut properties) }.result().map_err(failed)?;
    let info = BufferCreateInfo {
        size: bytes,
        sharing: device.sharing(Purpose::Host),
        usage: BufferUsage::STORAGE_BUFFER | BufferUsage::SHADER_DEVICE_ADDRESS | BufferUsage::TRANSFER_SRC,
        external_memory_handle_types: ExternalMemoryHandleTypes::from(ExternalMemoryHandleType::HostAllocation),
        ..Default::default()
    };
    let raw = RawBuffer::new(vk.clone(), info).map_err(|e| Error::vulkan(doing, e))?;
    let needs = *raw.memory_requirements();
    let types = needs.memory_type_bits & properties.memory_type_bits;
    let refused = || Error::other(format!("{doing}: the device has no fitting memory type"));
    let index = memory_type(vk.physical_device(), types, Purpose::Host).ok_or_else(refused)?;
    if needs.layout.size() > bytes {
        return Err(Error::other(format!("{doing}: the device wants {} bytes for {bytes}", needs.layout.size())));
    }
    let mut source = vk::ImportMemoryHostPointerInfoEXT::default().handle_type(kind).host_pointer(pointer);
    let mut flags = vk::MemoryAllocateFlagsInfo::default().flags(vk::MemoryAllocateFlags::DEVICE_ADDRESS);
    let allocate = vk::MemoryAllocateInfo::default()
        .allocation_size(bytes)
        .memory_type_index(index)
        .push_next(&mut source)
        .push_next(&mut flags);
    let mut memory = vk::DeviceMemory::null();
    // SAFETY: pointer and size are multiples of the alignment that the device asks for (`segments`), the pages stay mapped while
    // the buffer lives (kept below), and no kernel or copy writes to it.
    unsafe { (vk.fns().v1_0.allocate_memory)(vk.handle(), &allocate, std::ptr::null(), &mut memory) }
        .result()
        .map_err(failed)?;
    let imported = Imported { device: device.clone(), memory, _map: pages.map.clone() };
    // SAFETY: the memory's type is among those that the buffer and the pointer allow, it is as large as the buffer needs, was made
    // for device addresses, and nothing else is bound to the buffer.
    unsafe { (vk.fns().v1_0.bind_buffer_memory)(vk.handle(), raw.handle(), memory, 0) }.result().map_err(failed)?;
    // SAFETY: it was just bound, and the buffer below is dropped before `imported` frees the memory.
    let buffer = unsafe { raw.assume_bound() };
    Buffer::over(buffer, bytes, Arc::new(imported))
}

/// Memory of the device over mapped pages. (vulkano counts allocations, and would count down for one that it did not make.)
struct Imported {
    device: Device,
    memory: vk::DeviceMemory,
    /// Unmapped after the memory is freed.
    _map: Arc<Mmap>,
}

impl Drop for Imported {
    fn drop(&mut self) {
        let vk = &self.device.inner.vk;
        // SAFETY: the memory was allocated on this device, and the buffer that was bound to it is gone: `Buffer` drops it first.
        unsafe { (vk.fns().v1_0.free_memory)(vk.handle(), self.memory, std::ptr::null()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_a_segment_and_far_ones_do_not() {
        let far = 8192 + 4 * GAP;
        let whole = 0..far + 8192;
        let (segments, regions) = cover(&[100..200, 4196..9000, far..far + 1], whole, 4096, 1 << 30).unwrap();
        assert_eq!(segments, [0..12288, far..far + 4096]);
        let at: Vec<_> = regions.iter().map(|r| (r.segment, r.offset, r.bytes)).collect();
        assert_eq!(at, [(0, 100, 100), (0, 4196, 4804), (1, 0, 1)]);
    }

    #[test]
    fn segments_stay_within_the_largest_buffer_even_where_pages_are_shared() {
        let (segments, regions) = cover(&[0..4000, 4000..8000, 8000..12000], 0..12288, 4096, 8192).unwrap();
        assert_eq!(segments, [0..8192, 4096..12288]);
        assert_eq!((regions[2].segment, regions[2].offset), (1, 8000 - 4096));
    }

    #[test]
    fn what_reaches_beyond_the_mapping_or_a_buffer_is_not_imported() {
        let one = |range| cover(std::slice::from_ref(&range), 4096..8192, 65536, 1 << 30);
        assert_eq!(one(4096..5000), None);
        assert_eq!(cover(&[0..9000, 9000..9001], 0..12288, 4096, 8192), None);
    }
}
