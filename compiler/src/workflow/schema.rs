//! What `inference_metadata.yaml` says, as types. In: nothing. Out: the pipeline's workflow and what the package says beside it.
//! Promise: names are as in the file, in its order; every part that can be wrong knows its path in the file.

use super::yaml::Path;
use crate::graph::DType;

/// The whole file, as far as it says how to run the package.
#[derive(Clone, PartialEq, Debug)]
pub struct Document {
    pub workflow: Workflow,
    pub package: Package,
    /// What a user may set (such as `temperature`), and the workflow input that it sets.
    pub overrides: Vec<Override>,
}

/// Beside the workflow: the tokenizer's facts.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Package {
    pub tokenizer: Option<Tokenizer>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Tokenizer {
    pub algorithm: Option<String>,
    pub vocab_size: Option<usize>,
    pub byte_level: Option<bool>,
    pub special: Vec<Special>,
}

/// A special token under its role's name, such as `eos`.
#[derive(Clone, PartialEq, Debug)]
pub struct Special {
    pub name: String,
    pub id: usize,
    pub content: String,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Override {
    pub name: String,
    pub input: String,
    pub path: Path,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Workflow {
    pub path: Path,
    pub capabilities: Vec<String>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub components: Vec<Component>,
    pub state: Vec<Cell>,
    pub serving: Option<Serving>,
    pub steps: Vec<Step>,
}

/// Type of a tensor.
#[derive(Clone, PartialEq, Debug)]
pub struct Contract {
    pub dtype: DType,
    pub shape: Vec<Dim>,
    /// The axis that has one entry a request.
    pub batch_axis: Option<usize>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dim {
    Fixed(usize),
    Symbol(String),
}

/// A value that comes from outside.
#[derive(Clone, PartialEq, Debug)]
pub struct Input {
    pub name: String,
    pub contract: Contract,
    /// What a runtime knows it by, such as `prompt_tokens`.
    pub role: Option<String>,
    pub source: Source,
    pub required: bool,
    pub default: Option<Scalar>,
    pub path: Path,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// From whoever asks.
    Request,
    /// From the program around, under a name.
    Application(String),
    /// The default, always.
    Literal,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Scalar {
    pub fn as_f64(self) -> f64 {
        match self {
            Scalar::Int(n) => n as f64,
            Scalar::Float(x) => x,
            Scalar::Bool(b) => f64::from(u8::from(b)),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Output {
    pub name: String,
    pub contract: Contract,
    pub role: String,
    pub path: Path,
}

/// An ONNX file that steps invoke.
#[derive(Clone, PartialEq, Debug)]
pub struct Component {
    pub name: String,
    /// The file, relative to the package.
    pub artifact: String,
    pub inputs: Vec<Port>,
    pub outputs: Vec<Port>,
    pub contract: Option<Promise>,
    /// An application may put another of the same contract in its place.
    pub overridable: bool,
    pub path: Path,
}

impl Component {
    pub fn input(&self, name: &str) -> Option<&Port> {
        self.inputs.iter().find(|p| p.name == name)
    }

    pub fn output(&self, name: &str) -> Option<&Port> {
        self.outputs.iter().find(|p| p.name == name)
    }

    /// The port that plays a role, or that the contract binds to it.
    pub fn playing(&self, role: &str) -> Option<&Port> {
        let ports = || self.inputs.iter().chain(&self.outputs);
        let bound = self.contract.iter().flat_map(|c| &c.bindings).find(|(r, _)| r == role).map(|(_, port)| port);
        ports().find(|p| p.role.as_deref() == Some(role)).or_else(|| ports().find(|p| Some(&p.name) == bound))
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Port {
    pub name: String,
    pub contract: Contract,
    pub role: Option<String>,
    pub path: Path,
}

/// The contract that a component keeps.
#[derive(Clone, PartialEq, Debug)]
pub struct Promise {
    pub id: String,
    pub version: String,
    /// Roles of the contract, and the ports that play them.
    pub bindings: Vec<(String, String)>,
    pub parameters: Vec<(String, String)>,
    pub path: Path,
}

impl Promise {
    /// `id@version`.
    pub fn name(&self) -> String {
        format!("{}@{}", self.id, self.version)
    }
}

/// A value that a loop carries from one iteration to the next.
#[derive(Clone, PartialEq, Debug)]
pub struct Cell {
    pub name: String,
    pub contract: Contract,
    pub initializer: String,
    pub recurrence: Recurrence,
    pub group: Option<String>,
    pub path: Path,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Recurrence {
    /// The same shape every time.
    Invariant,
    /// An axis that changes, up to a value.
    Bounded { axis: usize, max: String },
}

/// What serving needs to know: which values say that a row runs, and the groups of state.
#[derive(Clone, PartialEq, Debug)]
pub struct Serving {
    pub active: String,
    pub done: String,
    pub accepted: Option<String>,
    pub groups: Vec<Group>,
    pub path: Path,
}

/// Cells that are one cache.
#[derive(Clone, PartialEq, Debug)]
pub struct Group {
    pub name: String,
    pub kind: String,
    pub sequence_axis: usize,
    pub layout: String,
    pub lengths: Option<String>,
    pub total_length: Option<String>,
    pub aliasing: String,
    pub ports: Vec<Alias>,
    pub path: Path,
}

/// A cell of a group: the input that takes it and the output that gives it back.
#[derive(Clone, PartialEq, Debug)]
pub struct Alias {
    pub component: String,
    pub cell: String,
    pub input: String,
    pub output: String,
    /// `key`, `value` or `combined`.
    pub role: Option<String>,
    pub layer: Option<usize>,
    pub path: Path,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    pub path: Path,
    pub kind: StepKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StepKind {
    Sequence(Vec<Step>),
    Invoke(Invoke),
    Loop(Box<Loop>),
    Branch(Box<Branch>),
    Emit(Emit),
}

/// Runs a component: values go into its ports, and come out under names.
#[derive(Clone, PartialEq, Debug)]
pub struct Invoke {
    pub component: String,
    /// Port, value.
    pub inputs: Vec<(String, String)>,
    pub outputs: Vec<(String, String)>,
}

impl Invoke {
    pub fn input(&self, port: &str) -> Option<&str> {
        self.inputs.iter().find(|(p, _)| p == port).map(|(_, value)| value.as_str())
    }

    pub fn output(&self, port: &str) -> Option<&str> {
        self.outputs.iter().find(|(p, _)| p == port).map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Loop {
    /// Once, before the first iteration.
    pub setup: Vec<Step>,
    pub steps: Vec<Step>,
    /// Asked before each iteration.
    pub continue_when: String,
    pub max_iterations: String,
    pub carried: Vec<Carry>,
    /// `predicate` or `generation_eos`.
    pub termination: String,
    /// The name under which steps see the number of the iteration, from 0.
    pub iteration: Option<(String, Contract)>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Carry {
    pub cell: String,
    pub next: String,
    pub path: Path,
}

/// A name that a branch gives, what each case gives for it, and the default's.
pub type Merged = (String, Vec<(String, String)>, Option<String>);

#[derive(Clone, PartialEq, Debug)]
pub struct Branch {
    pub predicate: String,
    /// In the order of the file; the word of a case, and its step.
    pub cases: Vec<(String, Step)>,
    pub default: Option<Step>,
    pub outputs: Vec<Merged>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Emit {
    pub value: String,
    pub output: String,
    /// `append`, `replace` or `event`.
    pub mode: String,
    pub when: Option<String>,
    pub valid_length: Option<String>,
}
