//! The file to types. In: a YAML tree. Out: a [`Document`]. Promise: an unknown or missing key, a word that is none of those known,
//! or a part that this compiler does not run is one error with its path.

use super::schema::*;
use super::yaml::{At, Fields, Node, Path};
use crate::error::Result;
use crate::graph::DType;

/// What a workflow may ask of whoever runs it, as far as this compiler grants it.
const CAPABILITIES: &[&str] = &[
    "workflow_ssa",
    "linear_effects",
    "nested_control_flow",
    "typed_emit",
    "emit_valid_length",
    "loop_induction_values",
    "loop_carried_state",
    "serving_service_contract",
    "bounded_state_recurrence",
];

const DTYPES: &[(&str, DType)] = &[
    ("float32", DType::F32),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("float64", DType::F64),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("bool", DType::Bool),
];

/// A whole file.
pub fn document(root: &At) -> Result<Document> {
    let mut fields = root.fields()?;
    legacy(&mut fields)?;
    let version = fields.need("schema_version")?;
    if version.word()? != "1.0" {
        return Err(version.path.bad(format!("version {} is not known; 1.0 is", version.word()?)));
    }
    let pipeline = fields.need("pipeline")?;
    let mut inner = pipeline.fields()?;
    legacy(&mut inner)?;
    let workflow = workflow(&inner.need("workflow")?)?;
    inner.done()?;
    let package = fields.maybe("package").map(|at| package(&at)).transpose()?.unwrap_or_default();
    let overrides = fields.maybe("generation").map(|at| overrides(&at)).transpose()?.unwrap_or_default();
    fields.done()?;
    Ok(Document { workflow, package, overrides })
}

/// The section of an older schema, in which a package named its tensors without saying what is done with them.
fn legacy(fields: &mut Fields) -> Result<()> {
    let Some(model) = fields.maybe("model") else { return Ok(()) };
    let has_io = matches!(model.node, Node::Map(keys) if keys.iter().any(|(k, _)| k == "io"));
    let path = if has_io { model.path.key("io") } else { model.path };
    let what = "a section `model.io` belongs to an older schema, which does not say how the package runs";
    Err(path.bad(what).hint("export the package again, or delete the file to go by genai_config.json alone"))
}

fn package(at: &At) -> Result<Package> {
    let mut fields = at.fields()?;
    let tokenizer = fields.maybe("tokenizer").map(|at| tokenizer(&at)).transpose()?;
    fields.done()?;
    Ok(Package { tokenizer })
}

fn tokenizer(at: &At) -> Result<Tokenizer> {
    let mut fields = at.fields()?;
    let algorithm = fields.maybe("algorithm").map(|at| at.text().map(str::to_string)).transpose()?;
    let vocab_size = fields.maybe("vocab_size").map(|at| at.count()).transpose()?;
    let byte_level = fields.maybe("byte_level").map(|at| at.bool()).transpose()?;
    let mut special = vec![];
    if let Some(at) = fields.maybe("special_tokens") {
        for (name, at) in at.entries()? {
            let mut token = at.fields()?;
            special.push(Special {
                name: name.to_string(),
                id: token.need("id")?.count()?,
                content: token.need("content")?.word()?,
            });
            token.done()?;
        }
    }
    fields.done()?;
    Ok(Tokenizer { algorithm, vocab_size, byte_level, special })
}

fn overrides(at: &At) -> Result<Vec<Override>> {
    let mut fields = at.fields()?;
    let mut out = vec![];
    if let Some(at) = fields.maybe("overrides") {
        for (name, at) in at.entries()? {
            let mut one = at.fields()?;
            let input = one.need("input")?;
            out.push(Override { name: name.to_string(), input: input.text()?.to_string(), path: input.path });
            one.done()?;
        }
    }
    fields.done()?;
    Ok(out)
}

fn workflow(at: &At) -> Result<Workflow> {
    let mut fields = at.fields()?;
    let capabilities = manifest(&fields.need("manifest")?)?;
    let inputs = each(fields.maybe("inputs"), input)?;
    let outputs = each(Some(fields.need("outputs")?), output)?;
    let components = each(Some(fields.need("components")?), component)?;
    let state = each(fields.maybe("state"), cell)?;
    let serving = fields.maybe("serving").map(|at| serving(&at)).transpose()?;
    let steps = steps(&fields.need("steps")?)?;
    fields.done()?;
    Ok(Workflow { path: at.path.clone(), capabilities, inputs, outputs, components, state, serving, steps })
}

/// Every entry of a table of named things.
fn each<T>(at: Option<At>, read: fn(&str, &At) -> Result<T>) -> Result<Vec<T>> {
    let Some(at) = at else { return Ok(vec![]) };
    at.entries()?.iter().map(|(name, at)| read(name, at)).collect()
}

fn manifest(at: &At) -> Result<Vec<String>> {
    let mut fields = at.fields()?;
    let mut out = vec![];
    for item in fields.maybe("capabilities").map_or(Ok(vec![]), |at| at.list())? {
        let name = item.text()?;
        if !CAPABILITIES.contains(&name) {
            let what = format!("'{name}' is asked for and not granted; known are {}", CAPABILITIES.join(", "));
            return Err(item.path.bad(what));
        }
        out.push(name.to_string());
    }
    if let Some(version) = fields.maybe("ir_version")
        && version.word()? != "1.0"
    {
        return Err(version.path.bad(format!("version {} is not known; 1.0 is", version.word()?)));
    }
    // Facts for other runtimes: the graphs say their opsets themselves.
    for facts in ["onnx_opsets", "adapter_abis", "custom_op_versions"] {
        fields.maybe(facts).map_or(Ok(vec![]), |at| at.entries())?;
    }
    fields.done()?;
    Ok(out)
}

fn contract(at: &At) -> Result<Contract> {
    let mut fields = at.fields()?;
    let out = contract_fields(&mut fields, at)?;
    fields.done()?;
    Ok(out)
}

fn contract_fields(fields: &mut Fields, at: &At) -> Result<Contract> {
    let dtype = fields.need("dtype")?.one_of(DTYPES)?;
    let rank = fields.need("rank")?;
    let mut shape = vec![];
    for item in fields.need("shape")?.list()? {
        shape.push(match item.node {
            Node::Text(symbol) => Dim::Symbol(symbol.clone()),
            _ => Dim::Fixed(item.count()?),
        });
    }
    if rank.count()? != shape.len() {
        return Err(rank.path.bad(format!("rank {} and a shape of {} dimensions", rank.count()?, shape.len())));
    }
    let batch_axis = fields.maybe("batch_layout").map(|at| batch_axis(&at)).transpose()?.flatten();
    if let Some(axis) = batch_axis {
        let path = at.path.key("batch_layout").key("axis");
        match shape.get(axis) {
            None => return Err(path.bad(format!("axis {axis} of {} dimensions", shape.len()))),
            Some(Dim::Fixed(n)) if *n != 1 => {
                return Err(path.bad(format!("a batch of {n}, and one request runs at a time")));
            }
            _ => {}
        }
    }
    Ok(Contract { dtype, shape, batch_axis })
}

fn batch_axis(at: &At) -> Result<Option<usize>> {
    let mut fields = at.fields()?;
    let aligned = fields.need("kind")?.one_of(&[("request_aligned", true), ("shared", false), ("unbatched", false)])?;
    let axis = fields.maybe("axis").map(|at| at.count()).transpose()?;
    if aligned && axis.is_none() {
        return Err(at.path.key("axis").bad("is missing"));
    }
    fields.done()?;
    Ok(axis.filter(|_| aligned))
}

fn scalar(at: &At) -> Result<Scalar> {
    match at.node {
        Node::Int(n) => Ok(Scalar::Int(*n)),
        Node::Float(x) => Ok(Scalar::Float(*x)),
        Node::Bool(b) => Ok(Scalar::Bool(*b)),
        _ => Err(at.path.bad("a number, true or false is wanted here")),
    }
}

fn input(name: &str, at: &At) -> Result<Input> {
    let mut fields = at.fields()?;
    let contract = contract(&fields.need("contract")?)?;
    let role = input_role(&fields.need("role")?)?;
    let source = source(&fields.need("source")?)?;
    let required = fields.flag("required", true)?;
    let default = fields.maybe("default");
    if let Some(default) = &default {
        let fits = match (scalar(default)?, contract.dtype) {
            (Scalar::Bool(_), d) => d == DType::Bool,
            (Scalar::Int(_), d) => d != DType::Bool,
            (Scalar::Float(_), d) => d.is_float(),
        };
        if !fits {
            return Err(default.path.bad(format!("is no {}, which the contract asks for", contract.dtype)));
        }
    }
    let default = default.map(|at| scalar(&at)).transpose()?;
    if source == Source::Literal && default.is_none() {
        return Err(at.path.key("default").bad("is missing, and a literal has nothing else"));
    }
    fields.done()?;
    Ok(Input { name: name.to_string(), contract, role, source, required, default, path: at.path.clone() })
}

fn input_role(at: &At) -> Result<Option<String>> {
    let mut fields = at.fields()?;
    let runtime = fields.need("kind")?.one_of(&[("runtime", true), ("opaque", false)])?;
    let role = if runtime { Some(fields.text("role")?) } else { None };
    if let Some(version) = fields.maybe("version").filter(|_| runtime)
        && version.word()? != "1.0"
    {
        return Err(version.path.bad(format!("version {} is not known; 1.0 is", version.word()?)));
    }
    fields.done()?;
    Ok(role)
}

fn source(at: &At) -> Result<Source> {
    let mut fields = at.fields()?;
    let kind = fields.need("kind")?;
    let source = match kind.text()? {
        "request" => Source::Request,
        "literal" => Source::Literal,
        "application" => Source::Application(fields.text("name")?),
        other => return Err(kind.path.bad(format!("'{other}' is none of request, application, literal"))),
    };
    fields.done()?;
    Ok(source)
}

fn output(name: &str, at: &At) -> Result<Output> {
    let mut fields = at.fields()?;
    let contract = contract(&fields.need("contract")?)?;
    let role = fields.text("role")?;
    if let Some(stage) = fields.maybe("stage") {
        stage.one_of(&[("pre_adapter", ()), ("post_adapter", ())])?;
    }
    fields.done()?;
    Ok(Output { name: name.to_string(), contract, role, path: at.path.clone() })
}

fn component(name: &str, at: &At) -> Result<Component> {
    let mut fields = at.fields()?;
    let artifact = artifact(&fields.need("implementation")?)?;
    let mut ports = fields.need("ports")?.fields()?;
    let mut inputs = each(ports.maybe("inputs"), port)?;
    let mut outputs = each(ports.maybe("outputs"), port)?;
    if let Some(at) = ports.maybe("roles") {
        for (port, role) in at.entries()? {
            let named = inputs.iter_mut().chain(&mut outputs).find(|p| p.name == port);
            let named = named.ok_or_else(|| role.path.bad(format!("'{name}' has no port '{port}'")))?;
            named.role = Some(role.text()?.to_string());
        }
    }
    ports.done()?;
    let contract = fields.maybe("contract").map(|at| promise(&at)).transpose()?;
    let overridable = fields.flag("application_overridable", false)?;
    fields.done()?;
    Ok(Component { name: name.to_string(), artifact, inputs, outputs, contract, overridable, path: at.path.clone() })
}

/// The file: inside the package, whatever the metadata says.
fn artifact(at: &At) -> Result<String> {
    let mut fields = at.fields()?;
    let kind = fields.need("kind")?;
    if kind.text()? != "onnx" {
        return Err(kind.path.bad(format!("'{}' components are not run here, onnx ones are", kind.text()?)));
    }
    let artifact = fields.need("artifact")?;
    let name = artifact.text()?;
    let inside = std::path::Path::new(name).components().all(|c| matches!(c, std::path::Component::Normal(_)));
    if name.is_empty() || !inside || name.contains('\\') {
        return Err(artifact.path.bad(format!("'{name}' is no file inside the package")));
    }
    fields.done()?;
    Ok(name.to_string())
}

fn port(name: &str, at: &At) -> Result<Port> {
    Ok(Port { name: name.to_string(), contract: contract(at)?, role: None, path: at.path.clone() })
}

fn promise(at: &At) -> Result<Promise> {
    let mut fields = at.fields()?;
    let id = fields.text("id")?;
    let version = fields.need("version")?.word()?;
    if let Some(equivalence) = fields.maybe("equivalence") {
        equivalence.one_of(&[("bitwise", ()), ("distribution_preserving", ()), ("semantic", ())])?;
    }
    let bindings = fields.words("bindings")?;
    let mut parameters = vec![];
    if let Some(at) = fields.maybe("parameters") {
        for (name, at) in at.entries()? {
            let value = if let Node::Bool(b) = at.node { b.to_string() } else { at.word()? };
            parameters.push((name.to_string(), value));
        }
    }
    fields.done()?;
    Ok(Promise { id, version, bindings, parameters, path: at.path.clone() })
}

fn cell(name: &str, at: &At) -> Result<Cell> {
    let mut fields = at.fields()?;
    let contract = contract(&fields.need("contract")?)?;
    if let Some(class) = fields.maybe("class") {
        class.one_of(&[("semantic", ()), ("advisory", ())])?;
    }
    let scope = fields.need("scope")?;
    if scope.text()? != "invocation" {
        let what = format!("state of scope '{}' outlives a run, and none does here", scope.text()?);
        return Err(scope.path.bad(what));
    }
    let initializer = fields.text("initializer")?;
    let recurrence = recurrence(&fields.need("recurrence")?, contract.shape.len())?;
    let group = fields.maybe("service_group").map(|at| at.text().map(str::to_string)).transpose()?;
    if let Some(at) = fields.maybe("management") {
        at.one_of(&[("workflow", ()), ("runtime", ())])?;
    }
    if let Some(at) = fields.maybe("release_boundary") {
        at.one_of(&[("invocation", ()), ("row", ())])?;
    }
    fields.done()?;
    Ok(Cell { name: name.to_string(), contract, initializer, recurrence, group, path: at.path.clone() })
}

fn recurrence(at: &At, rank: usize) -> Result<Recurrence> {
    let mut fields = at.fields()?;
    let bounded = fields.need("kind")?.one_of(&[("invariant", false), ("bounded", true)])?;
    let out = if bounded {
        let axis = fields.need("axis")?;
        if axis.count()? >= rank {
            return Err(axis.path.bad(format!("axis {} of {rank} dimensions", axis.count()?)));
        }
        Recurrence::Bounded { axis: axis.count()?, max: fields.text("max")? }
    } else {
        Recurrence::Invariant
    };
    fields.done()?;
    Ok(out)
}

fn serving(at: &At) -> Result<Serving> {
    let mut fields = at.fields()?;
    let active = fields.text("active")?;
    let done = fields.text("done")?;
    let accepted = fields.maybe("accepted_len").map(|at| at.text().map(str::to_string)).transpose()?;
    let mut service = fields.need("state_service")?.fields()?;
    let groups = each(service.maybe("groups"), group)?;
    service.done()?;
    fields.done()?;
    Ok(Serving { active, done, accepted, groups, path: at.path.clone() })
}

fn group(name: &str, at: &At) -> Result<Group> {
    let mut fields = at.fields()?;
    let kind = fields.need("kind")?;
    kind.one_of(&[("full_attention", ()), ("sliding_attention", ())])?;
    let sequence_axis = fields.need("sequence_axis")?.count()?;
    let layout = fields.text("layout")?;
    let word = |at: Option<At>| at.map(|at| at.text().map(str::to_string)).transpose();
    let lengths = word(fields.maybe("logical_lengths"))?;
    let total_length = word(fields.maybe("total_length"))?;
    let aliasing = fields.maybe("aliasing");
    if let Some(at) = &aliasing {
        at.one_of(&[("permitted", ()), ("required", ()), ("forbidden", ())])?;
    }
    let aliasing = word(aliasing)?.unwrap_or("forbidden".into());
    // What a server may do with the cache besides running: none of it is done here, and none is needed.
    for (key, facts) in
        [("reuse", vec!["prefix_reusable", "evictable_prefix"]), ("capabilities", vec!["snapshot", "fork"])]
    {
        let Some(at) = fields.maybe(key) else { continue };
        let mut inner = at.fields()?;
        facts.iter().try_for_each(|fact| inner.flag(fact, false).map(|_| ()))?;
        inner.maybe("rollback_positions").map(|at| at.count()).transpose()?;
        inner.done()?;
    }
    let mut ports = vec![];
    for (component, at) in fields.need("ports")?.entries()? {
        for (cell, at) in at.entries()? {
            ports.push(alias(component, cell, &at)?);
        }
    }
    fields.done()?;
    let kind = kind.text()?.to_string();
    let path = at.path.clone();
    Ok(Group { name: name.to_string(), kind, sequence_axis, layout, lengths, total_length, aliasing, ports, path })
}

fn alias(component: &str, cell: &str, at: &At) -> Result<Alias> {
    let mut fields = at.fields()?;
    let out = Alias {
        component: component.to_string(),
        cell: cell.to_string(),
        input: fields.text("input")?,
        output: fields.text("output")?,
        role: fields.maybe("role").map(|at| at.text().map(str::to_string)).transpose()?,
        layer: fields.maybe("layer").map(|at| at.count()).transpose()?,
        path: at.path.clone(),
    };
    fields.done()?;
    Ok(out)
}

fn steps(at: &At) -> Result<Vec<Step>> {
    at.list()?.iter().map(step).collect()
}

fn step(at: &At) -> Result<Step> {
    let mut fields = at.fields()?;
    let kind = fields.need("kind")?;
    let kind = match kind.text()? {
        "sequence" => StepKind::Sequence(steps(&fields.need("steps")?)?),
        "invoke" => StepKind::Invoke(Invoke {
            component: fields.text("component")?,
            inputs: fields.words("inputs")?,
            outputs: fields.words("outputs")?,
        }),
        "loop" => StepKind::Loop(Box::new(looped(&mut fields)?)),
        "branch" => StepKind::Branch(Box::new(branch(&mut fields)?)),
        "emit" => StepKind::Emit(emit(&mut fields)?),
        other => {
            return Err(kind.path.bad(format!("'{other}' is none of sequence, invoke, loop, branch, emit")));
        }
    };
    fields.done()?;
    Ok(Step { path: at.path.clone(), kind })
}

fn looped(fields: &mut Fields) -> Result<Loop> {
    let setup = fields.maybe("setup").map_or(Ok(vec![]), |at| steps(&at))?;
    let body = steps(&fields.need("steps")?)?;
    let mut carried = vec![];
    for item in fields.maybe("carried").map_or(Ok(vec![]), |at| at.list())? {
        let mut one = item.fields()?;
        carried.push(Carry { cell: one.text("cell")?, next: one.text("next")?, path: item.path.clone() });
        one.done()?;
    }
    let termination = fields.maybe("termination");
    if let Some(at) = &termination {
        at.one_of(&[("predicate", ()), ("generation_eos", ())])?;
    }
    let termination = termination.map_or(Ok("predicate"), |at| at.text())?.to_string();
    let iteration = match fields.maybe("iteration") {
        Some(at) => {
            let mut inner = at.fields()?;
            let named = (inner.text("value")?, contract(&inner.need("contract")?)?);
            inner.done()?;
            Some(named)
        }
        None => None,
    };
    let continue_when = fields.text("continue_when")?;
    let max_iterations = fields.text("max_iterations")?;
    Ok(Loop { setup, steps: body, continue_when, max_iterations, carried, termination, iteration })
}

fn branch(fields: &mut Fields) -> Result<Branch> {
    let predicate = fields.text("predicate")?;
    let cases = fields.need("cases")?;
    let cases = cases.entries()?.iter().map(|(word, at)| Ok((word.to_string(), step(at)?))).collect::<Result<_>>()?;
    let default = fields.maybe("default").map(|at| step(&at)).transpose()?;
    let mut outputs = vec![];
    if let Some(at) = fields.maybe("outputs") {
        for (name, at) in at.entries()? {
            let mut one = at.fields()?;
            let given = one.words("cases")?;
            let default = one.maybe("default").map(|at| at.text().map(str::to_string)).transpose()?;
            one.done()?;
            outputs.push((name.to_string(), given, default));
        }
    }
    Ok(Branch { predicate, cases, default, outputs })
}

fn emit(fields: &mut Fields) -> Result<Emit> {
    let value = fields.text("value")?;
    let output = fields.text("output")?;
    let mode = fields.need("mode")?;
    mode.one_of(&[("append", ()), ("replace", ()), ("event", ())])?;
    let mut word = |key| fields.maybe(key).map(|at| at.text().map(str::to_string)).transpose();
    let (when, valid_length) = (word("when")?, word("valid_length")?);
    Ok(Emit { value, output, mode: mode.text()?.to_string(), when, valid_length })
}

/// The root of a document for [`document`].
pub fn root<'a>(node: &'a Node, reading: &'a super::yaml::Reading) -> At<'a> {
    At { node, path: Path::default(), reading }
}
