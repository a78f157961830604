//! GPU time by dispatch. In: an engine recorded with timestamps. Out: one row a dispatch of the last run. Promise: rows add up to the
//! whole run; with overlapping dispatches a row is the time that its end came after the one before.

use crate::engine::Engine;
use crate::error::{Error, Kind, Result};
use crate::program::layers;
use crate::recorder::Part;

/// A dispatch and its time.
#[derive(Clone, PartialEq, Debug)]
pub struct Timing {
    /// What ran: the variant that stands for the program's own kernel on this device.
    pub kernel: String,
    /// The dispatch's note, `{l}` replaced by the repetition.
    pub note: String,
    pub block: u32,
    pub repetition: u32,
    /// Its index in the block.
    pub dispatch: u32,
    pub grid: [u32; 3],
    pub start_ns: f64,
    pub ns: f64,
}

impl Engine {
    /// Times of the last run of this bucket and part. Needs `RecordOptions::timestamps`, and that the run has finished.
    pub fn timings(&mut self, bucket: u32, part: Part) -> Result<Vec<Timing>> {
        let device = self.device().clone();
        let recording = self.recording(bucket, part)?;
        if recording.timestamps.is_none() {
            return Err(Error::new(Kind::Usage, "this bucket was recorded without timestamps"));
        }
        let ends = recording.ends_ns(&device)?;
        let places = recording.places.clone();
        let plan = self.bucket(bucket)?;
        let mut start_ns = 0.0;
        let rows = places.iter().zip(ends).map(|(place, end)| {
            let dispatch = &plan.blocks[place.block as usize].dispatches[place.dispatch as usize];
            let (kernel, grid) = self.tuning.stands_for(dispatch.kernel, dispatch.grid);
            // Ticks of two units of the device may cross by one.
            let end = f64::max(end, start_ns);
            let row = Timing {
                kernel: self.program.kernels[kernel as usize].name.to_string(),
                note: layers::at(&dispatch.note, place.repetition),
                block: place.block,
                repetition: place.repetition,
                dispatch: place.dispatch,
                grid,
                start_ns,
                ns: end - start_ns,
            };
            start_ns = end;
            row
        });
        Ok(rows.collect())
    }
}
