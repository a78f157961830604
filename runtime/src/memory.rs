//! Device memory. In: sizes and a purpose. Out: buffers with device addresses. Promise: nothing is read or
//! written outside a buffer, and an allocation that fails names what it was for.
#![allow(unsafe_code)]

use crate::device::Device;
use crate::error::{Error, Kind, Result};
pub(crate) use crate::ledger::Purpose;
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use vulkano::buffer::sys::RawBuffer;
use vulkano::buffer::{BufferCreateInfo, BufferMemory, BufferUsage};
use vulkano::device::physical::PhysicalDevice;
use vulkano::memory::{
    DeviceMemory, MemoryAllocateFlags, MemoryAllocateInfo, MemoryMapInfo, MemoryPropertyFlags as Flags,
    MemoryRequirements, ResourceMemory,
};

/// An allocation in a ledger, while it lives.
struct Entry {
    device: Device,
    bytes: u64,
}

impl Entry {
    fn new(device: &Device, bytes: u64) -> Arc<Entry> {
        let ledger = &device.inner.ledger;
        let now = ledger.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        ledger.peak.fetch_max(now, Ordering::Relaxed);
        Arc::new(Entry { device: device.clone(), bytes })
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.device.inner.ledger.now.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// What must outlive a buffer.
pub(crate) type Holder = Arc<dyn Any + Send + Sync>;

/// A buffer with memory of its own.
#[derive(Clone)]
pub(crate) struct Buffer {
    pub vk: Arc<vulkano::buffer::Buffer>,
    _entry: Option<Arc<Entry>>,
    /// Pages that it lies over; dropped after it.
    _pages: Option<Holder>,
    bytes: u64,
    address: u64,
    mapped: bool,
}

impl Buffer {
    /// Allocates `bytes` (at least 4, rounded up to a multiple of 4). `what` names it in errors.
    pub fn new(device: &Device, bytes: u64, purpose: Purpose, what: &str) -> Result<Buffer> {
        let bytes = bytes.max(4).next_multiple_of(4);
        let doing = format!("allocating {} for {what}", human(bytes));
        let limit = device.limits().max_buffer_bytes;
        if bytes > limit {
            return Err(Error::new(Kind::OutOfMemory, format!("{doing}: the device allows {} a buffer", human(limit))));
        }
        let vk = device.inner.vk.clone();
        let usage = BufferUsage::STORAGE_BUFFER
            | BufferUsage::SHADER_DEVICE_ADDRESS
            | BufferUsage::TRANSFER_SRC
            | BufferUsage::TRANSFER_DST;
        let info = BufferCreateInfo { size: bytes, usage, sharing: device.sharing(purpose), ..Default::default() };
        let raw = RawBuffer::new(vk.clone(), info).map_err(|e| Error::vulkan(&doing, e))?;
        let needs = *raw.memory_requirements();
        let memory = allocate(device, &needs, purpose, &doing)?;
        let mapped = memory.mapping_state().is_some();
        let entry = Entry::new(device, needs.layout.size());
        let buffer =
            raw.bind_memory(ResourceMemory::new_dedicated(memory)).map_err(|(e, _, _)| Error::vulkan(&doing, e))?;
        Ok(Buffer { mapped, ..Buffer::of(buffer, bytes, Some(entry), None)? })
    }

    /// A buffer over pages that are there already; they count as nobody's allocation.
    pub fn over(buffer: vulkano::buffer::Buffer, bytes: u64, pages: Holder) -> Result<Buffer> {
        Buffer::of(buffer, bytes, None, Some(pages))
    }

    fn of(
        buffer: vulkano::buffer::Buffer,
        bytes: u64,
        entry: Option<Arc<Entry>>,
        pages: Option<Holder>,
    ) -> Result<Buffer> {
        let none = |e| Error::new(Kind::Other, format!("the address of a buffer: {e}"));
        let address = buffer.device_address().map_err(none)?.get();
        Ok(Buffer { vk: Arc::new(buffer), _entry: entry, _pages: pages, bytes, address, mapped: false })
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    /// Whether the host can read and write it directly.
    pub fn mapped(&self) -> bool {
        self.mapped
    }

    /// Copies host bytes in. The device must not be using that range.
    pub fn write(&self, offset: u64, data: &[u8]) -> Result<()> {
        let target = self.slice(offset, data.len() as u64)?;
        // SAFETY: `slice` gave a mapped range of exactly this length; the source is another allocation.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), target, data.len()) };
        Ok(())
    }

    /// Copies bytes out. The device must have finished writing that range.
    pub fn read(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        let source = self.slice(offset, out.len() as u64)?;
        // SAFETY: `slice` gave a mapped range of exactly this length; the target is another allocation.
        unsafe { std::ptr::copy_nonoverlapping(source, out.as_mut_ptr(), out.len()) };
        Ok(())
    }

    /// Start of a mapped range.
    fn slice(&self, offset: u64, bytes: u64) -> Result<*mut u8> {
        let end = offset.checked_add(bytes).filter(|&end| end <= self.bytes);
        let memory = match self.vk.memory() {
            BufferMemory::Normal(memory) => Some(memory),
            _ => None,
        };
        let slice = end.zip(memory).and_then(|(end, memory)| memory.mapped_slice(offset..end)?.ok());
        slice.map(|s| s.cast::<u8>().as_ptr()).ok_or_else(|| {
            let what = format!("host access to bytes {offset}+{bytes} of a buffer of {}", self.bytes);
            Error::new(Kind::Other, what)
        })
    }
}

fn allocate(device: &Device, needs: &MemoryRequirements, purpose: Purpose, doing: &str) -> Result<DeviceMemory> {
    let vk = &device.inner.vk;
    let index = memory_type(vk.physical_device(), needs.memory_type_bits, purpose)
        .ok_or_else(|| Error::new(Kind::Unfit, format!("{doing}: the device has no fitting memory type")))?;
    let visible = vk.physical_device().memory_properties().memory_types[index as usize]
        .property_flags
        .contains(Flags::HOST_VISIBLE | Flags::HOST_COHERENT);
    let info = MemoryAllocateInfo {
        allocation_size: needs.layout.size(),
        memory_type_index: index,
        flags: MemoryAllocateFlags::DEVICE_ADDRESS,
        ..Default::default()
    };
    let mut memory = DeviceMemory::allocate(vk.clone(), info).map_err(|e| Error::vulkan(doing, e))?;
    if visible {
        let whole = MemoryMapInfo { size: needs.layout.size(), ..Default::default() };
        memory.map(whole).map_err(|e| Error::vulkan(doing, e))?;
    }
    Ok(memory)
}

/// The first memory type that has what the purpose must have, with as many of its wishes as can be.
pub(crate) fn memory_type(physical: &PhysicalDevice, allowed: u32, purpose: Purpose) -> Option<u32> {
    let host = Flags::HOST_VISIBLE | Flags::HOST_COHERENT;
    let (must, wishes, unwanted) = match purpose {
        Purpose::Device | Purpose::Ring => (Flags::empty(), Flags::DEVICE_LOCAL, Flags::HOST_VISIBLE),
        Purpose::Shared => (host, Flags::DEVICE_LOCAL, Flags::HOST_CACHED),
        Purpose::Readback => (host, Flags::HOST_CACHED, Flags::DEVICE_LOCAL),
        Purpose::Staging | Purpose::Host => (host, Flags::empty(), Flags::DEVICE_LOCAL),
    };
    let never = Flags::PROTECTED | Flags::LAZILY_ALLOCATED | Flags::DEVICE_COHERENT;
    let types = physical.memory_properties().memory_types.iter().enumerate();
    types
        .filter(|(i, t)| {
            allowed & (1 << i) != 0 && t.property_flags.contains(must) && !t.property_flags.intersects(never)
        })
        .min_by_key(|(i, t)| (!t.property_flags.contains(wishes), t.property_flags.intersects(unwanted), *i))
        .map(|(i, _)| i as u32)
}

/// A range of one of several buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Region {
    pub segment: usize,
    pub offset: u64,
    pub bytes: u64,
}

/// Alignment of everything that a kernel is given the address of.
pub(crate) const ALIGN: u64 = 256;

/// Regions for `sizes`, in order, and the byte size of each segment; a region never spans two segments. `guard` bytes stay free on
/// both sides of each region. Fails with the index of an item that no segment can hold.
pub(crate) fn place(sizes: &[u64], guard: u64, most: u64) -> std::result::Result<(Vec<Region>, Vec<u64>), usize> {
    let guard = guard.next_multiple_of(ALIGN);
    let most = most / ALIGN * ALIGN;
    let mut regions = Vec::with_capacity(sizes.len());
    let mut segments: Vec<u64> = Vec::new();
    for (i, &bytes) in sizes.iter().enumerate() {
        let span = bytes.max(4).checked_next_multiple_of(ALIGN).and_then(|b| b.checked_add(2 * guard)).ok_or(i)?;
        if span > most {
            return Err(i);
        }
        match segments.last_mut() {
            Some(used) if *used + span <= most => *used += span,
            _ => segments.push(span),
        }
        let segment = segments.len() - 1;
        regions.push(Region { segment, offset: segments[segment] - span + guard, bytes });
    }
    Ok((regions, segments))
}

/// Bytes for readers: `1.5 GiB`.
pub fn human(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// Bytes in the decimal units in which the question is asked: `0.440 GB`.
pub fn decimal(bytes: u64) -> String {
    let value = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", value / 1e3),
        1_000_000..100_000_000 => format!("{:.1} MB", value / 1e6),
        _ => format!("{:.3} GB", value / 1e9),
    }
}

/// The guards before and after a region; none where there are no guards.
pub(crate) fn guards_around(what: String, r: &Region, guard: u64) -> Vec<(String, Region)> {
    let guard = guard.next_multiple_of(ALIGN);
    if guard == 0 {
        return Vec::new();
    }
    let after = r.offset + r.bytes.next_multiple_of(4);
    let end = r.offset + r.bytes.max(4).next_multiple_of(ALIGN) + guard;
    let before = Region { segment: r.segment, offset: r.offset - guard, bytes: guard };
    let behind = Region { segment: r.segment, offset: after, bytes: end - after };
    vec![(format!("before {what}"), before), (format!("after {what}"), behind)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_aligned_apart_and_never_span_two_segments() {
        let (regions, segments) = place(&[100, 256, 1, 700], 0, 1024).unwrap();
        assert_eq!(segments, [768, 768]);
        let at: Vec<_> = regions.iter().map(|r| (r.segment, r.offset)).collect();
        assert_eq!(at, [(0, 0), (0, 256), (0, 512), (1, 0)]);
    }

    #[test]
    fn guards_stand_on_both_sides() {
        let (regions, segments) = place(&[8, 8], 256, 1 << 20).unwrap();
        assert_eq!((regions[0].offset, regions[1].offset, segments[0]), (256, 256 + 768, 1536));
    }

    #[test]
    fn an_item_larger_than_a_segment_is_named() {
        assert_eq!(place(&[10, 2000], 0, 1024), Err(1));
        assert_eq!(place(&[u64::MAX - 3], 0, 1024), Err(0));
    }

    #[test]
    fn sizes_are_readable() {
        assert_eq!((human(12), human(1536), human(3 << 30)), ("12 B".into(), "1.5 KiB".into(), "3.0 GiB".into()));
    }

    #[test]
    fn sizes_are_told_in_decimal_units() {
        let told = [900, 1_500, 65_000_000, 440_000_000, 7_900_000_000].map(decimal);
        assert_eq!(told, ["900 B", "1.5 kB", "65.0 MB", "0.440 GB", "7.900 GB"]);
    }
}
