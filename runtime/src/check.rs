//! Checks a program before anything is allocated. In: a program and the limits of a device. Out: nothing, or the first
//! contradiction with its place. Promise: after it, every index resolves, grids and push constants are within limits.

use crate::device::Limits;
use crate::error::{Error, Kind, Result};
use crate::program::places::column;
use crate::program::{Arg, Block, Bucket, Dispatch, Kernel, Pictures, Program, Variant};
use crate::step::MAX_ARGS;

/// Holds the program against itself and the device.
pub fn check(program: &Program, limits: &Limits) -> Result<()> {
    for kernel in program.kernels.iter() {
        if kernel.args as usize > MAX_ARGS {
            return Err(wrong(format!(
                "kernel '{}' takes {} addresses, at most {MAX_ARGS} fit",
                kernel.name, kernel.args
            )));
        }
        if kernel.args * 8 > limits.push_bytes {
            let what = format!(
                "kernel '{}' pushes {} bytes, the device takes {}",
                kernel.name,
                kernel.args * 8,
                limits.push_bytes
            );
            return Err(Error::new(Kind::Unfit, what));
        }
    }
    program.variants.iter().try_for_each(|v| check_variant(program, v, limits))?;
    for bucket in program.buckets.iter() {
        for block in bucket.blocks.iter() {
            for dispatch in block.dispatches.iter() {
                check_dispatch(program, bucket, block, dispatch, limits)
                    .map_err(|e| e.at(format!("bucket '{}', dispatch '{}'", bucket.name, dispatch.note)))?;
            }
        }
    }
    check_decoder(program)
}

fn check_dispatch(
    program: &Program,
    bucket: &Bucket,
    block: &Block,
    dispatch: &Dispatch,
    limits: &Limits,
) -> Result<()> {
    let kernel = program
        .kernels
        .get(dispatch.kernel as usize)
        .ok_or_else(|| wrong(format!("there is no kernel {}", dispatch.kernel)))?;
    if dispatch.args.len() != kernel.args as usize {
        return Err(wrong(format!(
            "kernel '{}' takes {} addresses, {} given",
            kernel.name,
            kernel.args,
            dispatch.args.len()
        )));
    }
    check_grid(kernel, dispatch.grid, limits)?;
    for row in block.table.iter() {
        for &arg in dispatch.args.iter() {
            check_arg(program, bucket, column(arg, row)?)?;
        }
    }
    Ok(())
}

fn check_grid(kernel: &Kernel, grid: [u32; 3], limits: &Limits) -> Result<()> {
    for (axis, (&groups, &most)) in grid.iter().zip(&limits.max_groups).enumerate() {
        if groups == 0 || groups > most {
            let what = format!(
                "kernel '{}' wants {groups} workgroups on axis {axis}, the device takes 1 to {most}",
                kernel.name
            );
            return Err(Error::new(Kind::Unfit, what));
        }
    }
    Ok(())
}

fn check_variant(program: &Program, variant: &Variant, limits: &Limits) -> Result<()> {
    let kernel = |i: u32| {
        let missing = || wrong(format!("a variant names kernel {i}, of which there is none"));
        program.kernels.get(i as usize).ok_or_else(missing)
    };
    let (of, by) = (kernel(variant.of)?, kernel(variant.by)?);
    if (of.args, of.writes) != (by.args, by.writes) || variant.of == variant.by {
        return Err(wrong(format!("kernel '{}' cannot stand for '{}'", by.name, of.name)));
    }
    check_grid(by, variant.grid, limits)
}

fn check_arg(program: &Program, bucket: &Bucket, arg: Arg) -> Result<()> {
    let within = |what: &str, index: u64, count: u64| {
        if index < count { Ok(()) } else { Err(wrong(format!("{what} {index} of {count}"))) }
    };
    match arg {
        Arg::Weight(i) => within("weight", i.into(), program.tensors.len() as u64),
        Arg::State(i) => within("state", i.into(), program.states.len() as u64),
        Arg::Input(i) => within("input", i.into(), bucket.inputs.len() as u64),
        Arg::Output(i) => within("output", i.into(), bucket.outputs.len() as u64),
        Arg::Arena(offset) => within("arena byte", offset, bucket.arena_bytes),
        Arg::Tokens | Arg::Logits | Arg::Ring | Arg::History if program.decoder.is_none() => {
            Err(wrong(format!("{arg:?} is used, but the program is no decoder")))
        }
        Arg::Column(_) | Arg::Step | Arg::Tokens | Arg::Logits | Arg::Ring | Arg::History => Ok(()),
    }
}

fn check_decoder(program: &Program) -> Result<()> {
    let Some(decoder) = &program.decoder else { return Ok(()) };
    for (role, index) in [("decode", decoder.decode), ("prefill", decoder.prefill)] {
        let rows = program.buckets.get(index as usize).map(|b| b.rows);
        match rows {
            None => return Err(wrong(format!("the {role} bucket {index} does not exist"))),
            Some(0) => return Err(wrong(format!("the {role} bucket takes no rows"))),
            Some(_) => {}
        }
    }
    if let Some(pictures) = &decoder.pictures {
        check_pictures(program, pictures)?;
    }
    if decoder.context == 0 || decoder.vocab == 0 {
        return Err(wrong(format!("a decoder of {} rows and {} tokens", decoder.context, decoder.vocab)));
    }
    Ok(())
}

fn check_pictures(program: &Program, pictures: &Pictures) -> Result<()> {
    let inputs = program.buckets.get(pictures.bucket as usize).map_or(0, |b| b.inputs.len());
    if inputs != 1 {
        return Err(wrong(format!(
            "bucket {} is to take the pixels of a picture, and has {inputs} inputs",
            pictures.bucket
        )));
    }
    let rows = program.states.get(pictures.state as usize).and_then(|s| s.shape.get(2).copied()).unwrap_or(0);
    if rows == 0 || pictures.rows.checked_mul(pictures.slots) != Some(rows) {
        let what = format!("{} pictures of {} rows do not fill a state of {rows} rows", pictures.slots, pictures.rows);
        return Err(wrong(what));
    }
    Ok(())
}

fn wrong(what: String) -> Error {
    Error::new(Kind::Program, what)
}
