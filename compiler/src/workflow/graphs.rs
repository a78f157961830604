//! The package's graphs, run by the interpreter. In: a folder, a component, arrays. Out: its outputs. Promise: a graph is imported once for
//! each set of shapes; its symbols are what the arrays say.

use super::run::Invoker;
use super::schema::{Component, Contract, Dim};
use crate::error::{Error, Result};
use crate::graph::Graph;
use crate::graph::eval::{self, Array};
use crate::import::{self, Bindings, Inspection, Options};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// Elements of an array whose values may become constants of a graph.
const FEW: usize = 16;
/// Of one value of a policy: a hundred vocabularies.
const MOST_ELEMENTS: usize = 1 << 24;

/// Files of a package.
pub struct Graphs {
    folder: PathBuf,
    files: HashMap<String, Inspection>,
    read: HashMap<(String, Bindings), Graph>,
}

impl Graphs {
    pub fn of(folder: &Path) -> Graphs {
        Graphs { folder: folder.to_path_buf(), files: HashMap::new(), read: HashMap::new() }
    }

    /// The file of a component.
    pub fn path(&self, component: &Component) -> PathBuf {
        self.folder.join(&component.artifact)
    }

    /// What the file says of itself, held against what the metadata says of it.
    pub fn inspect(&mut self, component: &Component) -> Result<&Inspection> {
        if !self.files.contains_key(&component.artifact) {
            let path = self.path(component);
            if !path.is_file() {
                let at = component.path.key("implementation").key("artifact");
                return Err(at.bad(format!("there is no file '{}' in the package", component.artifact)));
            }
            let inspection = import::inspect(&path)?;
            hold(component, &inspection)?;
            self.files.insert(component.artifact.clone(), inspection);
        }
        self.files.get(&component.artifact).ok_or_else(|| Error::new("workflow", "a file was lost"))
    }

    /// The graph at the extents that some of its inputs have.
    pub fn graph(&mut self, component: &Component, shapes: &[(&str, &[usize])]) -> Result<&Graph> {
        let bind = self.bindings(component, shapes)?;
        let key = (component.artifact.clone(), bind.clone());
        if !self.read.contains_key(&key) {
            let graph = import::load(&self.path(component), &Options { bind, ..Options::default() })?;
            self.read.insert(key.clone(), graph);
        }
        self.read.get(&key).ok_or_else(|| Error::new("workflow", "a graph was lost"))
    }

    /// What the symbols are at these extents.
    fn bindings(&mut self, component: &Component, shapes: &[(&str, &[usize])]) -> Result<Bindings> {
        let mut bind = Bindings::new();
        for (name, shape) in shapes {
            let ports = &self.inspect(component)?.inputs;
            let Some(dims) = ports.iter().find(|p| p.name == *name).and_then(|p| p.dims.as_ref()) else { continue };
            for (dim, extent) in dims.iter().zip(shape.iter()) {
                if dim.parse::<usize>().is_err() && !dim.contains([' ', '+', '-', '*', '/']) {
                    bind.insert(dim.clone(), *extent);
                }
            }
        }
        Ok(bind)
    }
}

impl Invoker for Graphs {
    fn invoke(&mut self, component: &Component, inputs: &[(&str, &Array)]) -> Result<HashMap<String, Array>> {
        let shapes: Vec<(&str, &[usize])> = inputs.iter().map(|(n, a)| (*n, a.shape.as_slice())).collect();
        let given: HashMap<String, Array> = inputs.iter().map(|(n, a)| (n.to_string(), (*a).clone())).collect();
        let refused = match self.graph(component, &shapes) {
            Ok(graph) => {
                small(graph).map_err(|e| e.at(component.name.clone()))?;
                return eval::run(graph, &given);
            }
            Err(e) => e,
        };
        // Shapes that are made of what is in an array: few numbers, known here.
        let few = given.iter().filter(|(_, a)| a.dtype.is_int() && a.shape.len() <= 1 && a.ty().elements() <= FEW);
        let fixed: BTreeMap<_, _> = few.map(|(n, a)| (n.clone(), a.to_tensor())).collect();
        if fixed.is_empty() {
            return Err(refused);
        }
        let options = Options { bind: self.bindings(component, &shapes)?, fixed, ..Options::default() };
        let graph = import::load(&self.path(component), &options)?;
        small(&graph).map_err(|e| e.at(component.name.clone()))?;
        eval::run(&graph, &given)
    }
}

/// Refuses a policy that makes more of a few numbers than any policy needs.
fn small(graph: &Graph) -> Result<()> {
    let large = graph.values.iter().find(|v| v.ty.elements() > MOST_ELEMENTS);
    large.map_or(Ok(()), |v| {
        let what =
            format!("the policy's '{}' has {} elements, and {MOST_ELEMENTS} are taken here", v.name, v.ty.elements());
        Err(Error::new("workflow", what).hint("a policy works on a row of logits and some counts"))
    })
}

/// Ports of the metadata are those of the file, with its types.
fn hold(component: &Component, file: &Inspection) -> Result<()> {
    for (side, ports, theirs) in
        [("inputs", &component.inputs, &file.inputs), ("outputs", &component.outputs, &file.outputs)]
    {
        let path = component.path.key("ports").key(side);
        for port in ports {
            let Some(have) = theirs.iter().find(|p| p.name == port.name) else {
                let known: Vec<&str> = theirs.iter().map(|p| p.name.as_str()).collect();
                let what = format!("{} has no such port; it has {}", component.artifact, known.join(", "));
                return Err(path.key(&port.name).bad(what));
            };
            if let Some(why) = differs(&port.contract, have) {
                return Err(path.key(&port.name).bad(format!("in {} {why}", component.artifact)));
            }
        }
        if let Some(extra) = theirs.iter().find(|p| side == "inputs" && !ports.iter().any(|q| q.name == p.name)) {
            let what =
                format!("{} takes '{}' too, and the metadata says nothing of it", component.artifact, extra.name);
            return Err(path.bad(what));
        }
    }
    Ok(())
}

fn differs(contract: &Contract, port: &import::Port) -> Option<String> {
    let ours = contract.dtype.to_string();
    if onnx_name(&ours) != port.dtype.to_ascii_lowercase() {
        return Some(format!("it is {}, not {ours}", port.dtype));
    }
    let dims = port.dims.as_ref()?;
    let clash = |(a, b): (&Dim, &String)| matches!((a, b.parse::<usize>()), (Dim::Fixed(a), Ok(b)) if *a != b);
    if dims.len() != contract.shape.len() || contract.shape.iter().zip(dims).any(clash) {
        return Some(format!("its shape is [{}]", dims.join(", ")));
    }
    None
}

/// ONNX's name of our element type, in lower case.
fn onnx_name(dtype: &str) -> String {
    let (kind, bits) = dtype.split_at(dtype.find(|c: char| c.is_ascii_digit()).unwrap_or(dtype.len()));
    match (kind, bits) {
        ("f", "32") => "float".into(),
        ("f", "64") => "double".into(),
        ("f", bits) => format!("float{bits}"),
        ("bf", bits) => format!("bfloat{bits}"),
        ("i", bits) => format!("int{bits}"),
        ("u", bits) => format!("uint{bits}"),
        _ => dtype.to_string(),
    }
}
