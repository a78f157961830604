//! Raw runs. In: host arrays by port name. Out: arrays under the graph's own names and types. Promise: one error names every array that
//! does not fit its port.

use crate::array::Array;
use crate::engine::Engine;
use crate::error::{Error, Kind, Result};
use crate::program::Port;
use crate::recorder::Part;

impl Engine {
    /// Runs a bucket on arrays: every input port must be given, by name, and nothing else; one error lists all that is wrong.
    /// Returns the outputs in port order.
    pub fn run_raw(&mut self, bucket: u32, inputs: &[(&str, &Array)]) -> Result<Vec<(String, Array)>> {
        let plan = self.bucket(bucket)?.clone();
        let mut wrong = Vec::new();
        for (name, _) in inputs {
            if !plan.inputs.iter().any(|p| p.name == *name) {
                let known = plan.inputs.iter().map(|p| p.name.as_ref()).collect::<Vec<_>>().join(", ");
                wrong.push(format!("there is no input '{name}' (have {known})"));
            }
        }
        let mut encoded = Vec::with_capacity(plan.inputs.len());
        for port in plan.inputs.iter() {
            match inputs.iter().find(|(name, _)| port.name == *name).map(|(_, array)| array.encode(port)) {
                None => wrong.push(format!("input '{}' ({} {:?}) is missing", port.name, port.numpy, port.shape)),
                Some(Err(e)) => wrong.push(e.to_string()),
                Some(Ok(bytes)) => encoded.push(bytes),
            }
        }
        if !wrong.is_empty() {
            return Err(Error::new(Kind::Input, wrong.join("; ")));
        }
        let arrays = self.run_ports(bucket, &encoded)?;
        let named = |(port, bytes): (&Port, Vec<u8>)| Ok((port.name.to_string(), Array::decode(port, &bytes)?));
        plan.outputs.iter().zip(arrays).map(named).collect()
    }

    /// The same on the bytes of ports, in port order.
    fn run_ports(&mut self, bucket: u32, inputs: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
        let regions = self.port_regions(bucket)?;
        for (region, bytes) in regions.inputs.iter().zip(inputs) {
            self.write_region(region, bytes)?;
        }
        self.run(bucket, Part::Whole)?;
        let mut out = Vec::with_capacity(regions.outputs.len());
        for region in &regions.outputs {
            let mut bytes = vec![0u8; region.bytes as usize];
            self.download(region, 0, &mut bytes)?;
            out.push(bytes);
        }
        Ok(out)
    }
}
