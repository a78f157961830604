//! What a driver tells of a kernel's machine code (VK_KHR_pipeline_executable_properties). In: a device opened for it, a kernel's code.
//! Out: figures under the names that the driver gives them: registers, spilled bytes, size. Promise: the pipeline is made for this alone
//! and gone afterwards; nothing runs.
#![allow(unsafe_code)]

use crate::device::Device;
use crate::error::{Error, Kind, Result};
use crate::recorder::{Code, pipeline_layout, stage};
use ash::vk;
use serde_json::Value;
use std::ffi::{CStr, c_char};
use std::ptr;
use vulkano::VulkanObject;

/// One of the programs that the driver made of a kernel; of a compute kernel there is mostly one.
#[derive(Clone, PartialEq, Debug)]
pub struct Executable {
    pub name: String,
    pub subgroup: u32,
    pub figures: Vec<(String, Value)>,
}

/// What the driver made of a kernel. The device was opened with `Options::statistics`.
pub fn executables(device: &Device, code: &Code) -> Result<Vec<Executable>> {
    let made = Made::new(device, code)?;
    let all = made.programs()?;
    let told = |(index, program): (usize, &vk::PipelineExecutablePropertiesKHR)| {
        let figures = made.figures(index as u32)?;
        Ok(Executable { name: text(&program.name), subgroup: program.subgroup_size, figures })
    };
    all.iter().enumerate().map(told).collect()
}

/// A pipeline with its statistics.
struct Made<'a> {
    device: &'a vulkano::device::Device,
    pipeline: vk::Pipeline,
}

impl<'a> Made<'a> {
    /// As `recorder::pipeline`, with a flag that vulkano does not know.
    fn new(device: &'a Device, code: &Code) -> Result<Made<'a>> {
        if !device.inner.vk.enabled_features().pipeline_executable_info {
            return Err(Error::new(Kind::Unfit, "the device was not opened for statistics"));
        }
        let (layout, stage) = (pipeline_layout(device)?, stage(device, code)?);
        let device = &*device.inner.vk;
        let (module, mut entries, mut data) = (stage.entry_point.module(), Vec::new(), Vec::new());
        for (&id, value) in module.specialization_info() {
            let bytes = value.as_bytes();
            entries.push(vk::SpecializationMapEntry { constant_id: id, offset: data.len() as u32, size: bytes.len() });
            data.extend_from_slice(bytes);
        }
        let constants = vk::SpecializationInfo::default().map_entries(&entries).data(&data);
        let size = stage.required_subgroup_size.unwrap_or(0);
        let mut size = vk::PipelineShaderStageRequiredSubgroupSizeCreateInfo::default().required_subgroup_size(size);
        let mut shader = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module.base_module().handle())
            .name(c"main")
            .specialization_info(&constants);
        if stage.required_subgroup_size.is_some() {
            shader = shader.push_next(&mut size);
        }
        let info = vk::ComputePipelineCreateInfo::default()
            .flags(vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR)
            .stage(shader)
            .layout(layout.handle());
        let (create, mut pipeline) = (device.fns().v1_0.create_compute_pipelines, vk::Pipeline::null());
        // SAFETY: module, layout and all that `info` points to are alive, and the feature that the flag needs is enabled.
        unsafe { create(device.handle(), vk::PipelineCache::null(), 1, &info, ptr::null(), &mut pipeline) }
            .result()
            .map_err(|e| failed("pipeline", e))?;
        Ok(Made { device, pipeline })
    }

    fn programs(&self) -> Result<Vec<vk::PipelineExecutablePropertiesKHR<'static>>> {
        let get = self.device.fns().khr_pipeline_executable_properties.get_pipeline_executable_properties_khr;
        let info = vk::PipelineInfoKHR::default().pipeline(self.pipeline);
        counted("executables of a pipeline", |count, list| {
            // SAFETY: the pipeline is alive, its device has the feature, and `list` is null or holds `count` initialised structures.
            unsafe { get(self.device.handle(), &info, count, list) }
        })
    }

    fn figures(&self, index: u32) -> Result<Vec<(String, Value)>> {
        let get = self.device.fns().khr_pipeline_executable_properties.get_pipeline_executable_statistics_khr;
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(self.pipeline).executable_index(index);
        let all: Vec<vk::PipelineExecutableStatisticKHR> = counted("statistics of a pipeline", |count, list| {
            // SAFETY: as above; the pipeline was made with the flag that keeps statistics.
            unsafe { get(self.device.handle(), &info, count, list) }
        })?;
        Ok(all.iter().map(|figure| (text(&figure.name), value(figure))).collect())
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        // SAFETY: the pipeline is ours, and nothing was submitted with it.
        unsafe { (self.device.fns().v1_0.destroy_pipeline)(self.device.handle(), self.pipeline, ptr::null()) }
    }
}

/// A list that the driver is asked for twice: how long, then what.
fn counted<T: Default + Clone>(doing: &str, get: impl Fn(*mut u32, *mut T) -> vk::Result) -> Result<Vec<T>> {
    let mut count = 0;
    get(&mut count, ptr::null_mut()).result().map_err(|e| failed(doing, e))?;
    let mut list = vec![T::default(); count as usize];
    get(&mut count, list.as_mut_ptr()).result().map_err(|e| failed(doing, e))?;
    list.truncate(count as usize);
    Ok(list)
}

fn failed(doing: &str, result: vk::Result) -> Error {
    Error::vulkan(doing, vulkano::VulkanError::from(result))
}

fn value(figure: &vk::PipelineExecutableStatisticKHR) -> Value {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    let value = figure.value;
    // SAFETY: the format says which field the driver wrote, and all bits of each are values.
    unsafe {
        match figure.format {
            Format::BOOL32 => (value.b32 != 0).into(),
            Format::INT64 => value.i64.into(),
            Format::UINT64 => value.u64.into(),
            Format::FLOAT64 => value.f64.into(),
            _ => Value::Null,
        }
    }
}

/// Text of a fixed field, up to its end or its first zero.
fn text(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|&c| c as u8).collect();
    let found = CStr::from_bytes_until_nul(&bytes).map(CStr::to_bytes);
    String::from_utf8_lossy(found.unwrap_or(&bytes)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vk::{PipelineExecutableStatisticFormatKHR as Format, PipelineExecutableStatisticValueKHR as Union};

    #[test]
    fn figures_keep_the_type_that_the_driver_gives_them() {
        let of = |format, value| value_of(format, value);
        assert_eq!(of(Format::BOOL32, Union { b32: 1 }), Value::from(true));
        assert_eq!(of(Format::INT64, Union { i64: -3 }), Value::from(-3));
        assert_eq!(of(Format::UINT64, Union { u64: 1 << 40 }), Value::from(1u64 << 40));
        assert_eq!(of(Format::FLOAT64, Union { f64: 0.5 }), Value::from(0.5));
        assert_eq!(of(Format::from_raw(99), Union { u64: 7 }), Value::Null);
    }

    fn value_of(format: Format, value: Union) -> Value {
        super::value(&vk::PipelineExecutableStatisticKHR { format, value, ..Default::default() })
    }

    #[test]
    fn a_text_ends_at_its_zero_or_with_its_field() {
        let field = |bytes: &[u8]| bytes.iter().map(|&b| b as c_char).collect::<Vec<_>>();
        assert_eq!(text(&field(b"Register Count\0\0rest")), "Register Count");
        assert_eq!(text(&field(b"full")), "full");
    }

    #[test]
    fn a_list_is_asked_for_twice_and_may_come_shorter() {
        let list = counted("a list", |count, list: *mut u32| {
            // SAFETY: as the driver would: the count, then that many at most.
            unsafe {
                *count = if list.is_null() { 3 } else { 2 };
                if !list.is_null() {
                    list.write(7);
                    list.add(1).write(8);
                }
            }
            vk::Result::SUCCESS
        });
        assert_eq!(list.unwrap(), [7, 8]);
        let lost = counted("a list", |_, _: *mut u32| vk::Result::ERROR_DEVICE_LOST);
        assert_eq!(lost.unwrap_err().exit_code(), 8);
    }
}
