//! Command buffers. In: dispatches, copies, barriers. Out: recorded commands, replayable any number of times, and tickets for their
//! submissions. Promise: what commands use stays alive until they have run.
#![allow(unsafe_code)]

use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::Buffer;
use ash::vk;
use std::any::Any;
use std::sync::Arc;
use vulkano::VulkanObject;
use vulkano::command_buffer::{CommandBuffer, CommandBufferBeginInfo, RecordingCommandBuffer};
use vulkano::command_buffer::{CommandBufferLevel, CommandBufferUsage};
use vulkano::pipeline::{ComputePipeline, PipelineLayout};
use vulkano::query::QueryPool;
use vulkano::sync::{AccessFlags, DependencyInfo, MemoryBarrier, PipelineStages};

/// One side of a barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    /// Reads and writes of kernels.
    Compute,
    /// Everything on the device.
    All,
    /// Reads by the host after the submission.
    Host,
}

impl Scope {
    fn stages(self) -> PipelineStages {
        match self {
            Scope::Compute => PipelineStages::COMPUTE_SHADER,
            Scope::All => PipelineStages::ALL_COMMANDS,
            Scope::Host => PipelineStages::HOST,
        }
    }

    fn access(self, writes_only: bool) -> AccessFlags {
        match (self, writes_only) {
            (Scope::Compute, true) => AccessFlags::SHADER_WRITE,
            (Scope::Compute, false) => AccessFlags::SHADER_READ | AccessFlags::SHADER_WRITE,
            (Scope::All, true) => AccessFlags::MEMORY_WRITE,
            (Scope::All, false) => AccessFlags::MEMORY_READ | AccessFlags::MEMORY_WRITE,
            (Scope::Host, _) => AccessFlags::HOST_READ,
        }
    }
}

/// Commands being recorded.
pub(crate) struct Tape {
    device: Device,
    commands: RecordingCommandBuffer,
    keep: Vec<Arc<dyn Any + Send + Sync>>,
}

/// Commands that can be submitted, again and again.
pub(crate) struct Recorded {
    pub(crate) commands: CommandBuffer,
    _keep: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Tape {
    /// For the compute queue.
    pub fn new(device: &Device) -> Result<Tape> {
        Tape::on(device, device.inner.queue.queue_family_index())
    }

    /// For the copy queue.
    pub fn aside(device: &Device) -> Result<Tape> {
        Tape::on(device, device.inner.copy_queue.queue_family_index())
    }

    fn on(device: &Device, family: u32) -> Result<Tape> {
        let begin = CommandBufferBeginInfo { usage: CommandBufferUsage::SimultaneousUse, ..Default::default() };
        let allocator = device.inner.commands.clone();
        let commands = RecordingCommandBuffer::new(allocator, family, CommandBufferLevel::Primary, begin)
            .map_err(|e| Error::vulkan("recording", e))?;
        Ok(Tape { device: device.clone(), commands, keep: Vec::new() })
    }

    /// Writes of `from` so far become visible to `to` from here on.
    pub fn barrier(&mut self, from: Scope, to: Scope) {
        let barrier = MemoryBarrier {
            src_stages: from.stages(),
            src_access: from.access(true),
            dst_stages: to.stages(),
            dst_access: to.access(false),
            ..Default::default()
        };
        let info = DependencyInfo { memory_barriers: [barrier].into_iter().collect(), ..Default::default() };
        // SAFETY: recording is under way, outside a render pass; stages and accesses match and a compute queue has them all.
        unsafe { self.commands.pipeline_barrier_unchecked(&info) };
    }

    pub fn bind(&mut self, pipeline: &Arc<ComputePipeline>) {
        // SAFETY: the pipeline belongs to the same device and is kept alive below.
        unsafe { self.commands.bind_pipeline_compute_unchecked(pipeline) };
        self.keep.push(pipeline.clone());
    }

    /// Pushes addresses from byte 0 on. The layout's range covers them.
    pub fn push(&mut self, layout: &Arc<PipelineLayout>, addresses: &[u64]) {
        let bytes: &[u8] = bytemuck::cast_slice(addresses);
        if bytes.is_empty() {
            return;
        }
        let fns = self.device.inner.vk.fns();
        // SAFETY: at most 16 addresses (checked with the program) lie in the layout's 128-byte compute range; the
        // pointer and length are those of one slice, which the call copies.
        unsafe {
            (fns.v1_0.cmd_push_constants)(
                self.commands.handle(),
                layout.handle(),
                vk::ShaderStageFlags::COMPUTE,
                0,
                bytes.len() as u32,
                bytes.as_ptr().cast(),
            );
        }
    }

    /// Launches the bound kernel. What it reaches through pushed addresses is the program's word: the plan's hazard checker and
    /// the guard regions are what holds it to it.
    pub fn dispatch(&mut self, grid: [u32; 3]) {
        // SAFETY: a pipeline is bound and the grid is within the device's limits (checked with the program).
        unsafe { self.commands.dispatch_unchecked(grid) };
    }

    /// Copies bytes from buffer to buffer; ranges that leave a buffer are cut off.
    pub fn copy(&mut self, from: &Buffer, from_at: u64, to: &Buffer, to_at: u64, bytes: u64) {
        let bytes = bytes.min(from.bytes().saturating_sub(from_at)).min(to.bytes().saturating_sub(to_at));
        if bytes == 0 {
            return;
        }
        let region = vk::BufferCopy { src_offset: from_at, dst_offset: to_at, size: bytes };
        let fns = self.device.inner.vk.fns();
        // SAFETY: both buffers have transfer usage, the range was cut to both, and both are kept alive below.
        unsafe {
            (fns.v1_0.cmd_copy_buffer)(self.commands.handle(), from.vk.handle(), to.vk.handle(), 1, &region);
        }
        self.keep(from);
        self.keep(to);
    }

    /// Copies several (from, to, bytes) between two buffers in one command; what leaves a buffer is left out.
    pub fn copy_all(&mut self, from: &Buffer, to: &Buffer, pieces: &[[u64; 3]]) {
        let inside = |at: u64, bytes: u64, all: u64| at.checked_add(bytes).is_some_and(|end| end <= all);
        let regions: Vec<vk::BufferCopy> = pieces
            .iter()
            .filter(|[f, t, n]| *n > 0 && inside(*f, *n, from.bytes()) && inside(*t, *n, to.bytes()))
            .map(|&[src_offset, dst_offset, size]| vk::BufferCopy { src_offset, dst_offset, size })
            .collect();
        if regions.is_empty() {
            return;
        }
        let (fns, count) = (self.device.inner.vk.fns(), regions.len() as u32);
        // SAFETY: both buffers have transfer usage, every region lies inside both, and both are kept alive below; the call reads
        // as many regions as there are.
        unsafe {
            (fns.v1_0.cmd_copy_buffer)(
                self.commands.handle(),
                from.vk.handle(),
                to.vk.handle(),
                count,
                regions.as_ptr(),
            );
        }
        self.keep(from);
        self.keep(to);
    }

    fn keep(&mut self, buffer: &Buffer) {
        self.keep.push(Arc::new(buffer.clone()));
    }

    /// Fills words; offset and length are multiples of 4.
    pub fn fill(&mut self, to: &Buffer, at: u64, bytes: u64, word: u32) {
        let (at, bytes) = (at / 4 * 4, bytes.min(to.bytes().saturating_sub(at)) / 4 * 4);
        if bytes == 0 {
            return;
        }
        let fns = self.device.inner.vk.fns();
        // SAFETY: the buffer has transfer usage, the range is aligned and inside, and the buffer is kept alive below.
        unsafe { (fns.v1_0.cmd_fill_buffer)(self.commands.handle(), to.vk.handle(), at, bytes, word) };
        self.keep(to);
    }

    /// Writes bytes that travel with the commands, from `at` on, as far as the buffer reaches; both are multiples of 4.
    pub fn update(&mut self, to: &Buffer, at: u64, bytes: &[u8]) {
        /// What one command may carry.
        const MOST: usize = 65536;
        let at = at / 4 * 4;
        let bytes = &bytes[..bytes.len().min(to.bytes().saturating_sub(at) as usize) / 4 * 4];
        let fns = self.device.inner.vk.fns();
        for (i, piece) in bytes.chunks(MOST).enumerate() {
            // SAFETY: the buffer has transfer usage and is kept alive below; offset and length are multiples of 4 inside
            // it, at most 65,536 bytes, which the call copies.
            unsafe {
                (fns.v1_0.cmd_update_buffer)(
                    self.commands.handle(),
                    to.vk.handle(),
                    at + (i * MOST) as u64,
                    piece.len() as u64,
                    piece.as_ptr().cast(),
                );
            }
        }
        self.keep(to);
    }

    pub fn reset_timestamps(&mut self, pool: &Arc<QueryPool>) {
        let fns = self.device.inner.vk.fns();
        // SAFETY: the pool belongs to the same device, its whole range is reset, and it is kept alive below.
        unsafe { (fns.v1_0.cmd_reset_query_pool)(self.commands.handle(), pool.handle(), 0, pool.query_count()) };
        self.keep.push(pool.clone());
    }

    /// Takes the time when everything before has finished.
    pub fn timestamp(&mut self, pool: &Arc<QueryPool>, index: u32) {
        let fns = self.device.inner.vk.fns();
        // SAFETY: the pool is of this device, reset earlier in the run and kept alive below; `index` is below its count.
        unsafe {
            (fns.v1_0.cmd_write_timestamp)(
                self.commands.handle(),
                vk::PipelineStageFlags::BOTTOM_OF_PIPE,
                pool.handle(),
                index,
            );
        }
        self.keep.push(pool.clone());
    }

    pub fn end(self) -> Result<Arc<Recorded>> {
        // SAFETY: recording is under way and outside any render pass or query.
        let commands = unsafe { self.commands.end() }.map_err(|e| Error::vulkan("recording", e))?;
        Ok(Arc::new(Recorded { commands, _keep: self.keep }))
    }
}
