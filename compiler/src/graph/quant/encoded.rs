//! An encoded matrix. In: rows of floats, or codes somebody chose, or a file has. Out: its sections, as bytes. Promise: parts with equal
//! `Quant` join row by row into one tensor; the same input gives the same bytes on any number of threads.

use super::{Given, Grid, Quant, Zero};
use crate::error::{Error, Result};
use crate::graph::digest;
use half::f16;
use std::sync::OnceLock;

/// n rows (outputs) of k columns (inputs) under one `Quant`.
pub struct Encoded {
    quant: Quant,
    n: usize,
    k: usize,
    /// The sections of docs/pool.md, each without its padding.
    codes: Vec<u8>,
    grids: Vec<Grid>,
    columns: Vec<u32>,
    corrections: Vec<f16>,
    /// Where the codes lie in a file, in place of codes and grids.
    given: Option<Given>,
    hash: OnceLock<String>,
}

/// What rounding to nearest is to mind.
#[derive(Clone, Copy, Default, Debug)]
pub struct Fit<'a> {
    /// How much the error of each column counts; all the same when empty.
    pub importance: &'a [f32],
    /// Columns that get a correction, ascending, as many as the quant says. Scales need not care for them.
    pub salient: &'a [u32],
}

impl Encoded {
    /// Rounds `values` [n][k] to the nearest codes of the best grid of each group.
    pub fn nearest(values: &[f32], n: usize, k: usize, quant: Quant, fit: &Fit) -> Result<Encoded> {
        quant.check(n, k)?;
        let bad = |what: String| Error::new("quantise", what);
        if values.len() != n * k || !(fit.importance.is_empty() || fit.importance.len() == k) {
            return Err(bad(format!("{} values are not {n} rows of {k}", values.len())));
        }
        if let Some(i) = values.iter().position(|v| !v.is_finite()) {
            return Err(bad(format!("row {}, column {} is {}", i / k, i % k, values[i])));
        }
        let mut importance = fit.importance.to_vec();
        if !fit.salient.is_empty() {
            importance.resize(k, 1.0);
            for (c, w) in importance.iter_mut().enumerate() {
                *w = if fit.salient.contains(&(c as u32)) { 0.0 } else { *w };
            }
        }
        let group = usize::from(quant.group);
        let mut codes = vec![0u8; n * k];
        let mut grids = vec![Grid::default(); n * (k / group)];
        let threads = std::thread::available_parallelism().map_or(1, |t| t.get());
        let rows = n.div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            let pieces =
                values.chunks(rows * k).zip(codes.chunks_mut(rows * k)).zip(grids.chunks_mut(rows * (k / group)));
            for ((values, codes), grids) in pieces {
                let importance = &importance;
                scope.spawn(move || {
                    for (i, (x, q)) in values.chunks(group).zip(codes.chunks_mut(group)).enumerate() {
                        let at = i * group % k;
                        let w = importance.get(at..at + group).unwrap_or(&[]);
                        grids[i] = Grid::fit(quant, x, w);
                        q.iter_mut().zip(x).for_each(|(q, &x)| *q = grids[i].code(quant, x));
                    }
                });
            }
        });
        Encoded::from_codes(quant, n, k, &codes, grids)?.corrected(values, fit.salient)
    }

    /// Takes codes [n][k] and grids [n][k / group] as they are; `quant.salient` columns are still to be added by `corrected`.
    pub fn from_codes(quant: Quant, n: usize, k: usize, codes: &[u8], grids: Vec<Grid>) -> Result<Encoded> {
        quant.check(n, k)?;
        if codes.len() != n * k || grids.len() != n * (k / usize::from(quant.group)) {
            let what = format!("{} codes and {} scales are not {n} rows of {k}", codes.len(), grids.len());
            return Err(Error::new("quantise", what));
        }
        let codes = match quant.bits {
            4 => codes.as_chunks::<8>().0.iter().flat_map(pack_nibbles).collect(),
            _ => codes.to_vec(),
        };
        Ok(Encoded { codes, grids, ..Encoded::empty(quant, n, k) })
    }

    /// Takes what a file holds as it is, in a layout that says the same of it; `k` may run past the file's columns to a whole group.
    pub fn given(given: Given, k: usize, quant: Quant) -> Result<Encoded> {
        quant.check(given.n, k)?;
        given.check(k)?;
        if !given.fits(quant) {
            let what = format!("{} does not hold what {} says", quant.name(), given.quant(quant.group).name());
            return Err(Error::new("quantise", what));
        }
        Ok(Encoded { given: Some(given.clone()), ..Encoded::empty(quant, given.n, k) })
    }

    /// The same in another layout; None where that cannot hold it, or where its codes lie in no file.
    pub fn recoded(&self, quant: Quant) -> Option<Encoded> {
        self.given.as_ref().and_then(|given| Encoded::given(given.clone(), self.k, quant).ok())
    }

    fn empty(quant: Quant, n: usize, k: usize) -> Encoded {
        let (codes, grids, columns, corrections) = (vec![], vec![], vec![], vec![]);
        Encoded { quant, n, k, codes, grids, columns, corrections, given: None, hash: OnceLock::new() }
    }

    /// Keeps in fp16 what the codes of these columns (ascending) miss of `values` [n][k].
    pub fn corrected(mut self, values: &[f32], columns: &[u32]) -> Result<Encoded> {
        let ascending = columns.windows(2).all(|p| p[0] < p[1]) && columns.iter().all(|&c| (c as usize) < self.k);
        if columns.len() != usize::from(self.quant.salient) || !ascending || values.len() != self.n * self.k {
            let what = format!("{} salient columns of {} for {}", columns.len(), self.k, self.quant.name());
            return Err(Error::new("quantise", what));
        }
        let mut row = vec![0.0; self.k];
        self.columns = vec![];
        let mut corrections = Vec::with_capacity(self.n * columns.len());
        for (i, exact) in values.chunks(self.k).enumerate().filter(|_| !columns.is_empty()) {
            self.row(i, &mut row);
            corrections.extend(columns.iter().map(|&c| f16::from_f32(exact[c as usize] - row[c as usize])));
        }
        self.corrections = corrections;
        self.columns = columns.to_vec();
        Ok(self)
    }

    pub fn quant(&self) -> Quant {
        self.quant
    }

    /// Rows, columns.
    pub fn shape(&self) -> (usize, usize) {
        (self.n, self.k)
    }

    /// All values, [n][k].
    pub fn decode(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.n * self.k];
        for (i, row) in out.chunks_mut(self.k).enumerate() {
            self.row(i, row);
        }
        out
    }

    /// The values of row `i`, which must exist, into `out` [k].
    pub fn row(&self, i: usize, out: &mut [f32]) {
        if let Some(given) = &self.given {
            // `check` has seen that every row is there.
            if given.row(i, self.quant, out).is_err() {
                out.fill(f32::NAN);
            }
            return;
        }
        let group = usize::from(self.quant.group);
        let bytes = self.k * usize::from(self.quant.bits) / 8;
        let codes = &self.codes[i * bytes..][..bytes];
        let grids = &self.grids[i * (self.k / group)..];
        let mut place = |c: usize, q: u8, line: (f32, f32)| out[c] = f32::from(q) * line.0 + line.1;
        for (g, codes) in codes.chunks(group * usize::from(self.quant.bits) / 8).enumerate() {
            let line = grids[g].line(self.quant);
            match self.quant.bits {
                4 => {
                    for (word, eight) in codes.as_chunks::<4>().0.iter().enumerate() {
                        for (c, q) in unpack_nibbles(eight).into_iter().enumerate() {
                            place(g * group + 8 * word + c, q, line);
                        }
                    }
                }
                _ => codes.iter().enumerate().for_each(|(c, &q)| place(g * group + c, q, line)),
            }
        }
        let corrections = self.corrections.iter().skip(i * self.columns.len());
        for (&c, add) in self.columns.iter().zip(corrections) {
            out[c as usize] += add.to_f32();
        }
    }

    /// Squared error against `values` [n][k], and the sum of their squares.
    pub fn error(&self, values: &[f32]) -> (f64, f64) {
        let mut row = vec![0.0; self.k];
        let (mut error, mut whole) = (0.0, 0.0);
        for (i, exact) in values.chunks(self.k).enumerate() {
            self.row(i, &mut row);
            error += exact.iter().zip(&row).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>();
            whole += exact.iter().map(|a| f64::from(*a).powi(2)).sum::<f64>();
        }
        (error, whole)
    }

    /// Rows `from..to` alone.
    pub fn rows(&self, from: usize, to: usize) -> Encoded {
        let (bytes, groups) = (self.k * usize::from(self.quant.bits) / 8, self.k / usize::from(self.quant.group));
        let salient = self.columns.len();
        if let Some(given) = &self.given {
            let given = Some(given.rows(from, to));
            return Encoded { given, ..Encoded::empty(self.quant, to - from, self.k) };
        }
        Encoded {
            given: None,
            quant: self.quant,
            n: to - from,
            k: self.k,
            codes: self.codes[from * bytes..to * bytes].to_vec(),
            grids: self.grids[from * groups..to * groups].to_vec(),
            columns: self.columns.clone(),
            corrections: self.corrections[from * salient..to * salient].to_vec(),
            hash: OnceLock::new(),
        }
    }

    /// Hash of the layout and its content.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(format!("{} {}", self.quant.name(), self.k).as_bytes());
            if let Some(given) = &self.given
                && let Err(e) = given.feed(&mut hasher)
            {
                // `check` has seen that all of it is there.
                hasher.update(e.what.as_bytes());
            }
            hasher.update(&self.codes);
            for grid in &self.grids {
                hasher.update(&grid.scale.to_le_bytes()).update(&grid.zero.to_le_bytes());
            }
            hasher.update(bytemuck::cast_slice(&self.columns)).update(bytemuck::cast_slice(&self.corrections));
            digest(&hasher)
        })
    }

    fn put_codes(&self, out: &mut Writer) -> Result<()> {
        match &self.given {
            Some(given) => given.put_codes(self.quant, self.k, &mut |bytes| out.put(bytes)),
            None => out.put(&self.codes),
        }
    }

    fn put_scales(&self, out: &mut Writer) -> Result<()> {
        if let Some(given) = &self.given {
            return given.put_scales(self.quant, self.k, &mut |bytes| out.put(bytes));
        }
        let scales = || self.grids.iter().map(|g| g.scale);
        let bytes: Vec<u8> = match self.quant.wide {
            true => scales().flat_map(|s| s.to_f32().to_le_bytes()).collect(),
            false => scales().flat_map(f16::to_le_bytes).collect(),
        };
        out.put(&bytes)
    }

    fn put_zeros(&self, out: &mut Writer) -> Result<()> {
        if let Some(given) = &self.given {
            return given.put_zeros(self.quant, self.k, &mut |bytes| out.put(bytes));
        }
        let zeros = || self.grids.iter().map(|g| g.zero);
        let bytes: Vec<u8> = match (self.quant.zero, self.quant.wide) {
            (Zero::Mid, _) => vec![],
            (Zero::Point, _) => zeros().map(|z| z as u8).collect(),
            (_, true) => zeros().flat_map(|z| f16::from_bits(z).to_f32().to_le_bytes()).collect(),
            (_, false) => zeros().flat_map(u16::to_le_bytes).collect(),
        };
        out.put(&bytes)
    }
}

impl std::fmt::Debug for Encoded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}[{}, {}]", self.quant.name(), self.n, self.k)
    }
}

/// Writes the bytes of one pool tensor: the parts' rows, one after the other, section by section.
pub fn packed(parts: &[&Encoded], sink: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let Some(first) = parts.first() else { return Ok(()) };
    let alike = |p: &&Encoded| p.quant == first.quant && p.k == first.k && p.columns == first.columns;
    if !parts.iter().all(alike) {
        let what = format!("{parts:?} lie together and differ in layout, columns or salient columns");
        return Err(Error::new("quantise", what));
    }
    if first.columns.len() != usize::from(first.quant.salient) {
        return Err(Error::new("quantise", format!("{first:?} lacks its salient columns")));
    }
    let n = parts.iter().map(|p| p.n).sum();
    let sections = first.quant.sections(n, first.k);
    let mut out = Writer { at: 0, sink };
    parts.iter().try_for_each(|p| p.put_codes(&mut out))?;
    out.pad(sections.scales)?;
    parts.iter().try_for_each(|p| p.put_scales(&mut out))?;
    out.pad(sections.zeros)?;
    parts.iter().try_for_each(|p| p.put_zeros(&mut out))?;
    out.pad(sections.columns)?;
    out.put(bytemuck::cast_slice(&first.columns))?;
    out.pad(sections.corrections)?;
    parts.iter().try_for_each(|p| out.put(bytemuck::cast_slice(&p.corrections)))?;
    out.pad(sections.bytes)
}

struct Writer<'a> {
    at: usize,
    sink: &'a mut dyn FnMut(&[u8]) -> Result<()>,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.at += bytes.len();
        (self.sink)(bytes)
    }

    /// Zeros up to where the next section starts.
    fn pad(&mut self, to: usize) -> Result<()> {
        self.put(&vec![0; to.saturating_sub(self.at)])
    }
}

/// Column 2p + h of eight lies at bits 4p + 16h.
fn pack_nibbles(q: &[u8; 8]) -> [u8; 4] {
    [q[0] | q[2] << 4, q[4] | q[6] << 4, q[1] | q[3] << 4, q[5] | q[7] << 4]
}

fn unpack_nibbles(b: &[u8; 4]) -> [u8; 8] {
    let (low, high) = (b.map(|b| b & 15), b.map(|b| b >> 4));
    [low[0], low[2], high[0], high[2], low[1], low[3], high[1], high[3]]
}
