//! Submissions. In: recorded commands, in batches with what they wait for and what they announce. Out: tickets. Promise: a ticket keeps
//! what it stands for alive until it has run.
#![allow(unsafe_code)]

use crate::commands::Recorded;
use crate::device::Device;
use crate::error::{Error, Result};
use ash::vk;
use std::sync::Arc;
use vulkano::VulkanObject;
use vulkano::device::Queue;
use vulkano::sync::fence::Fence;
use vulkano::sync::semaphore::{Semaphore, SemaphoreCreateInfo, SemaphoreSignalInfo, SemaphoreType};

/// Counts what one queue has done, for the other to wait for.
#[derive(Clone)]
pub(crate) struct Timeline(Arc<Semaphore>);

impl Timeline {
    /// At zero.
    pub fn new(device: &Device) -> Result<Timeline> {
        let info = SemaphoreCreateInfo { semaphore_type: SemaphoreType::Timeline, ..Default::default() };
        let made = Semaphore::new(device.inner.vk.clone(), info);
        made.map(|s| Timeline(Arc::new(s))).map_err(|e| Error::vulkan("making a timeline", e))
    }

    /// Sets it from the host. No submission may be going to.
    fn set(&self, value: u64) {
        let info = SemaphoreSignalInfo { value, ..Default::default() };
        // SAFETY: the caller says that no queue signals it any more. Nobody is left to tell when it fails.
        let _ = unsafe { self.0.signal(info) };
    }
}

/// A count that a timeline reaches.
#[derive(Clone)]
pub(crate) struct Point {
    pub timeline: Timeline,
    pub value: u64,
}

/// Commands that start once one timeline is there, and move another on when they are done.
#[derive(Default)]
pub(crate) struct Batch {
    pub commands: Vec<Arc<Recorded>>,
    pub wait: Option<Point>,
    pub signal: Option<Point>,
}

/// A submission under way. Dropping it waits.
pub(crate) struct Ticket {
    fence: Fence,
    kept: Vec<Batch>,
    done: bool,
}

/// Hands commands to the compute queue, in order, in one submission.
pub(crate) fn submit(device: &Device, commands: &[Arc<Recorded>]) -> Result<Ticket> {
    submit_batches(device, vec![Batch { commands: commands.to_vec(), ..Batch::default() }])
}

/// The same for batches, in order.
pub(crate) fn submit_batches(device: &Device, batches: Vec<Batch>) -> Result<Ticket> {
    let fence = Fence::from_pool(device.inner.vk.clone()).map_err(|e| Error::vulkan("submitting", e))?;
    hand_over(device, &device.inner.queue, &batches, fence.handle())?;
    Ok(Ticket { fence, kept: batches, done: false })
}

/// Hands batches to the copy queue. The caller keeps them until the compute queue has waited for the last of them.
pub(crate) fn submit_aside(device: &Device, batches: &[Batch]) -> Result<()> {
    hand_over(device, &device.inner.copy_queue, batches, vk::Fence::null())
}

impl Ticket {
    /// Keeps more until the submission has run.
    pub fn keep(&mut self, batches: Vec<Batch>) {
        self.kept.extend(batches);
    }
}

/// One batch as the driver takes it.
struct Raw {
    commands: Vec<vk::CommandBufferSubmitInfo<'static>>,
    wait: Vec<vk::SemaphoreSubmitInfo<'static>>,
    signal: Vec<vk::SemaphoreSubmitInfo<'static>>,
}

impl Raw {
    fn new(batch: &Batch) -> Raw {
        let points = |p: &Option<Point>| {
            let info = |p: &Point| {
                let stages = vk::PipelineStageFlags2::ALL_COMMANDS;
                vk::SemaphoreSubmitInfo::default().semaphore(p.timeline.0.handle()).value(p.value).stage_mask(stages)
            };
            p.iter().map(info).collect()
        };
        let command = |c: &Arc<Recorded>| vk::CommandBufferSubmitInfo::default().command_buffer(c.commands.handle());
        let commands = batch.commands.iter().map(command).collect();
        Raw { commands, wait: points(&batch.wait), signal: points(&batch.signal) }
    }

    fn info(&self) -> vk::SubmitInfo2<'_> {
        let info = vk::SubmitInfo2::default().command_buffer_infos(&self.commands);
        info.wait_semaphore_infos(&self.wait).signal_semaphore_infos(&self.signal)
    }
}

fn hand_over(device: &Device, queue: &Arc<Queue>, batches: &[Batch], fence: vk::Fence) -> Result<()> {
    let raw: Vec<Raw> = batches.iter().map(Raw::new).collect();
    let infos: Vec<vk::SubmitInfo2> = raw.iter().map(Raw::info).collect();
    let fns = device.inner.vk.fns();
    let (count, first) = (infos.len() as u32, infos.as_ptr());
    // SAFETY: `with` holds the queue's lock; the command buffers are recorded for its family with simultaneous use, the fence is new
    // or none, all that the infos point to outlives the call, and tickets keep commands and timelines until they have run.
    accepted(queue.with(|_| unsafe { (fns.v1_3.queue_submit2)(queue.handle(), count, first, fence) }))
}

/// What the driver said to a submission.
fn accepted(result: vk::Result) -> Result<()> {
    match result {
        vk::Result::SUCCESS => Ok(()),
        error => Err(Error::vulkan("submitting", vulkano::VulkanError::from(error))),
    }
}

/// Waits until the compute queue is empty, and the copy queue with it. A lost device has none either.
pub(crate) fn drain(device: &Device) {
    drain_queue(device, &device.inner.queue);
    drain_queue(device, &device.inner.copy_queue);
}

fn drain_queue(device: &Device, queue: &Arc<Queue>) {
    let fns = device.inner.vk.fns();
    // SAFETY: `with` holds the queue's lock.
    let _ = queue.with(|_| unsafe { (fns.v1_0.queue_wait_idle)(queue.handle()) });
}

/// Ends copies that wait for kernels which were never submitted: `used` is what they wait for.
pub(crate) fn release(device: &Device, used: &Timeline, value: u64) {
    drain_queue(device, &device.inner.queue);
    used.set(value);
    drain_queue(device, &device.inner.copy_queue);
}

impl Ticket {
    /// Waits until the submission has run.
    pub fn wait(mut self) -> Result<()> {
        self.done = true;
        self.fence.wait(None).map_err(|e| Error::vulkan("waiting for the device", e))
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.done {
            // Nobody is left to tell; a lost device has stopped using the commands too.
            let _ = self.fence.wait(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_lost_device_and_memory_that_ran_out_have_their_own_exit_codes() {
        assert!(accepted(vk::Result::SUCCESS).is_ok());
        let refused = |result| accepted(result).unwrap_err();
        let lost = refused(vk::Result::ERROR_DEVICE_LOST);
        assert_eq!((lost.kind, lost.exit_code()), (Kind::DeviceLost, 8));
        assert!(lost.to_string().starts_with("submitting: the device was lost; "), "{lost}");
        assert_eq!(refused(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY).exit_code(), 7);
        // Found while waiting, it is the same error.
        let waiting = Error::vulkan("waiting for the device", vulkano::VulkanError::DeviceLost);
        assert_eq!(waiting.exit_code(), 8);
    }
}
