//! The compiled program. In: what the plan decided. Out: kernels, dispatches, extents as data. Promise: the same value whether
//! printed as Rust constants or built in memory; the recorder knows nothing else.

pub mod layers;
pub mod places;

use std::borrow::Cow;

pub type List<T> = Cow<'static, [T]>;
pub type Text = Cow<'static, str>;

/// A whole model: every bucket's dispatches over one weight pool.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub name: Text,
    /// Hash (hex) of all the rest of this value and of the pool's contents. The weight pool carries the same.
    pub plan_hash: Text,
    pub kernels: List<Kernel>,
    /// Those of a kernel stand together.
    pub variants: List<Variant>,
    /// The pool's tensors in pool order.
    pub tensors: List<Tensor>,
    /// Device memory that outlives a submission: KV caches, rows handed from bucket to bucket.
    pub states: List<State>,
    pub buckets: List<Bucket>,
    /// Present when the program generates text.
    pub decoder: Option<Decoder>,
}

/// Hex digits of `plan_hash` that stand for the plan alone.
pub const PLAN_DIGITS: usize = 16;

/// What the token loop needs to know.
#[derive(Clone, PartialEq, Debug)]
pub struct Decoder {
    /// Rows of the KV cache, prompt and answer together.
    pub context: u32,
    pub vocab: u32,
    /// Index of the bucket that takes one token, and of the one that takes a chunk of the prompt (may be the same).
    pub decode: u32,
    pub prefill: u32,
    /// Present when prompts may hold pictures.
    pub pictures: Option<Pictures>,
}

/// Pictures: ids at or above the vocabulary stand for their rows, those of the first slot first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pictures {
    /// The bucket that turns pixels, its only input, into the rows of a picture, and leaves them in the state from row `Step::pos` on.
    pub bucket: u32,
    /// f32, [1, 1, slots * rows, channels].
    pub state: u32,
    /// Rows of one picture.
    pub rows: u32,
    /// Pictures that fit at once.
    pub slots: u32,
}

/// One SPIR-V module: a shader source and its defines.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Kernel {
    /// `<family>_<dtype>_<dims>`, unique in the program, a Rust identifier.
    pub name: Text,
    /// File name under the shader folder, such as `linear.comp`.
    pub source: Text,
    /// Defines in a fixed order: name, value.
    pub defines: List<(Text, Text)>,
    /// Addresses it takes as push constants, 8 bytes each, at most 16.
    pub args: u32,
    /// Bit `i` is set when the kernel writes through argument `i`.
    pub writes: u32,
    /// Defines that, added to the others, make the form for devices with matrix units (`device::Limits::matrix`): the same
    /// arguments, writes and grid. Empty: there is none.
    pub matrix: List<(Text, Text)>,
}

/// Another kernel for the work of one: the same arguments and the same results, cut up in another way. Which is faster, a device says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variant {
    /// Index of the kernel that dispatches name, all of them with one grid.
    pub of: u32,
    /// Index of the kernel that may run instead, and the grid that it takes.
    pub by: u32,
    pub grid: [u32; 3],
}

/// An extent of the weight pool.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// The ONNX name, or several joined by `+` where the layout packs them.
    pub name: Text,
    /// How the bytes are laid out, such as `rows_f16` (see docs/pool.md).
    pub layout: Text,
    /// Logical shape, before packing.
    pub shape: List<u32>,
    pub bytes: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    pub name: Text,
    pub bytes: u64,
    /// Logical shape and element type, for tools.
    pub shape: List<u32>,
    pub dtype: Elem,
}

/// Element types that kernels load and store. Graph integers of every width are `I32` on the device; `bool` is `U32` 0 or 1.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Elem {
    F32,
    F16,
    I32,
    U32,
    /// Codes of eight bits, of a state alone; a f32 scale for each of its rows lies behind them.
    Q8,
}

impl Kernel {
    /// It reads the rows of a table that tokens name, and no others.
    pub fn looks_up(&self) -> bool {
        self.source == "gather_rows.comp"
    }
}

impl Port {
    /// Bytes of the buffer on the device.
    pub fn bytes(&self) -> u64 {
        self.shape.iter().map(|&d| u64::from(d)).product::<u64>() * self.elem.bytes()
    }
}

impl Elem {
    pub fn bytes(self) -> u64 {
        match self {
            Elem::Q8 => 1,
            Elem::F16 => 2,
            Elem::F32 | Elem::I32 | Elem::U32 => 4,
        }
    }
}

/// A graph at one set of shapes.
#[derive(Clone, PartialEq, Debug)]
pub struct Bucket {
    pub name: Text,
    /// Tokens a run takes (S); 1 for a graph without tokens.
    pub rows: u32,
    pub arena_bytes: u64,
    /// Host-visible buffers of a raw run, in argument order. Empty for decoders.
    pub inputs: List<Port>,
    pub outputs: List<Port>,
    pub blocks: List<Block>,
}

/// A tensor that the host writes or reads, under its ONNX name.
#[derive(Clone, PartialEq, Debug)]
pub struct Port {
    pub name: Text,
    /// The graph's element type, as numpy spells it (`float32`, `int64`); the host converts.
    pub numpy: Text,
    pub elem: Elem,
    pub shape: List<u32>,
}

/// Dispatches that run once for every row of `table`: one body per class of equal layers.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    pub phase: Phase,
    /// What `Arg::Column` means in each repetition. A block without columns has one empty row.
    pub table: List<List<Arg>>,
    pub dispatches: List<Dispatch>,
}

/// What a block is for, in the order in which blocks stand. A run takes the body; the last chunk of a prompt and every decode step
/// take the head and one of two samplers besides. A model that draws in a way of its own has no blocks of `Drawn`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Phase {
    Body,
    /// Last row and logits.
    Head,
    /// The likeliest token is the next.
    Greedy,
    /// The next token is drawn, as `Step::draw` says.
    Drawn,
}

/// Which phases of a bucket run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Part {
    /// `Body` blocks only: a chunk of a prompt that is not the last.
    Body,
    /// Everything; a decoder's next token is the likeliest.
    Whole,
    /// Everything; the next token is drawn.
    Drawn,
}

impl Part {
    /// Whether blocks of this phase are recorded.
    pub fn has(self, phase: Phase) -> bool {
        match phase {
            Phase::Body => true,
            Phase::Head => self != Part::Body,
            Phase::Greedy => self == Part::Whole,
            Phase::Drawn => self == Part::Drawn,
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Dispatch {
    pub kernel: u32,
    pub grid: [u32; 3],
    pub args: List<Arg>,
    /// A memory barrier stands before this dispatch.
    pub barrier: bool,
    /// ONNX names and shapes, for readers and the profiler; `{l}` is the repetition, `{l+5}` five more (`layers::at`).
    pub note: Text,
}

/// An address that a kernel is given. The runtime resolves it once, at load.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Arg {
    /// Index into `Program::tensors`.
    Weight(u32),
    /// Index into `Program::states`.
    State(u32),
    /// Byte offset in the bucket's arena.
    Arena(u64),
    /// Column of the block's table.
    Column(u32),
    /// Index into the bucket's ports.
    Input(u32),
    Output(u32),
    /// The `Step` buffer (see `crate::step`).
    Step,
    /// Token ids of this run, u32 [rows].
    Tokens,
    /// Logits of the last run, f32 [vocab], readable by the host.
    Logits,
    /// Host-visible ring of sampled tokens, u32.
    Ring,
    /// The token of every row of the cache, and the next one behind them, u32 [context].
    History,
}

/// A [`Kernel`] on one line of generated code.
#[macro_export]
macro_rules! kernel {
    ($name:literal, $source:literal, args $args:literal, writes $writes:literal, $defines:tt) => {
        $crate::kernel!($name, $source, args $args, writes $writes, $defines, matrix [])
    };
    ($name:literal, $source:literal, args $args:literal, writes $writes:literal, $defines:tt, matrix $matrix:tt) => {
        $crate::program::Kernel {
            name: ::std::borrow::Cow::Borrowed($name),
            source: ::std::borrow::Cow::Borrowed($source),
            defines: $crate::defines!($defines),
            args: $args,
            writes: $writes,
            matrix: $crate::defines!($matrix),
        }
    };
}

/// Names and values in brackets as a list of defines.
#[macro_export]
macro_rules! defines {
    ([$($key:ident = $value:literal),*]) => {
        ::std::borrow::Cow::Borrowed(&[$((
            ::std::borrow::Cow::Borrowed(stringify!($key)),
            ::std::borrow::Cow::Borrowed($value),
        )),*])
    };
}

/// A [`Tensor`] on one line of generated code.
#[macro_export]
macro_rules! tensor {
    ($name:literal, $layout:ident, $shape:expr, $bytes:literal) => {
        $crate::program::Tensor {
            name: ::std::borrow::Cow::Borrowed($name),
            layout: ::std::borrow::Cow::Borrowed(stringify!($layout)),
            shape: ::std::borrow::Cow::Borrowed(&$shape),
            bytes: $bytes,
        }
    };
}

/// A [`State`] on one line of generated code.
#[macro_export]
macro_rules! state {
    ($name:literal, $bytes:literal, $shape:expr, $dtype:expr) => {
        $crate::program::State {
            name: ::std::borrow::Cow::Borrowed($name),
            bytes: $bytes,
            shape: ::std::borrow::Cow::Borrowed(&$shape),
            dtype: $dtype,
        }
    };
}

/// A [`Port`] on one line of generated code.
#[macro_export]
macro_rules! port {
    ($name:literal, $numpy:literal, $elem:expr, $shape:expr) => {
        $crate::program::Port {
            name: ::std::borrow::Cow::Borrowed($name),
            numpy: ::std::borrow::Cow::Borrowed($numpy),
            elem: $elem,
            shape: ::std::borrow::Cow::Borrowed(&$shape),
        }
    };
}

/// One repetition of a [`Block`] on one line of generated code.
#[macro_export]
macro_rules! columns {
    ($($arg:expr),*) => {
        ::std::borrow::Cow::Borrowed(&[$($arg),*])
    };
}

/// A [`Dispatch`] on one line of generated code; `+` has a barrier before it, `-` has none.
#[macro_export]
macro_rules! row {
    ($kernel:ident, $grid:expr, [$($arg:expr),*], +, $note:literal) => {
        $crate::row!($kernel, $grid, [$($arg),*], true, $note)
    };
    ($kernel:ident, $grid:expr, [$($arg:expr),*], -, $note:literal) => {
        $crate::row!($kernel, $grid, [$($arg),*], false, $note)
    };
    ($kernel:ident, $grid:expr, [$($arg:expr),*], $barrier:literal, $note:literal) => {
        $crate::program::Dispatch {
            kernel: $kernel,
            grid: $grid,
            args: ::std::borrow::Cow::Borrowed(&[$($arg),*]),
            barrier: $barrier,
            note: ::std::borrow::Cow::Borrowed($note),
        }
    };
}
