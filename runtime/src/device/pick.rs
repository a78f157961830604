//! Which device is taken. In: the devices there are, and a wish. Out: the one that the wish means. Promise: what a device lacks is told
//! before it is opened, and a wish that nothing fits lists the choices.

use super::abilities::{heap_bytes, queue_family};
use crate::error::{Error, Kind, Result};
use crate::matrix;
use std::sync::Arc;
use vulkano::Version;
use vulkano::device::physical::{PhysicalDevice, PhysicalDeviceType};
use vulkano::instance::Instance;

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

pub(super) fn devices(instance: &Arc<Instance>) -> Result<Vec<Arc<PhysicalDevice>>> {
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

pub(super) fn describe(physical: &Arc<PhysicalDevice>) -> Info {
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
        ("timelineSemaphore", have.timeline_semaphore),
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
pub(super) fn choose(infos: &[Info], pick: &Pick) -> Result<usize> {
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
