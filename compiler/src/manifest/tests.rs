use super::*;

const DECODER: &str = r#"
title = "Tiny"
source = "a seed"
licence = "Apache-2.0"
precision = "fp16"
context = 64

[graphs]
decoder = "model.onnx"

[dims]
batch_size = 1
sequence_length = "rows"
past_sequence_length = "context - rows"

[[buckets]]
name = "prefill"
graph = "decoder"
rows = 16

[[buckets]]
name = "decode"
graph = "decoder"
dims = { batch_size = 2 }
"#;

fn error(from: &str, to: &str) -> String {
    assert!(DECODER.contains(from));
    Manifest::parse(&DECODER.replace(from, to), "tiny").unwrap_err().to_string()
}

#[test]
fn dimensions_become_numbers() {
    let m = Manifest::parse(DECODER, "tiny").unwrap();
    let dims: Vec<Vec<usize>> = m.buckets.iter().map(|b| b.dims.values().copied().collect()).collect();
    assert_eq!(dims, [[1, 48, 16], [2, 63, 1]], "batch, past, rows; a bucket overrides");
}

#[test]
fn errors_name_the_key() {
    for (from, to, expect) in [
        ("fp16", "fp8", "key 'precision': 'fp8' is none of fp32, fp16, int4"),
        ("licence", "license", "unknown field `license`"),
        ("context = 64", "context = 64\nkv = \"int4\"", "key 'kv': 'int4' is none of fp32, fp16, int8"),
        ("context = 64", "context = 64\nactivations = \"bf16\"", "key 'activations': 'bf16' is none of fp32, fp16"),
        ("title = \"Tiny\"", "", "missing field `title`"),
        ("graph = \"decoder\"\nrows = 16", "graph = \"x\"\nrows = 16", "'x' is not among [graphs]: decoder"),
        ("graph = \"decoder\"\nrows = 16", "graph = []", "key 'graph': the list is empty"),
        ("graph = \"decoder\"\nrows = 16", "graph = [\"decoder\", \"x\"]", "'x' is not among [graphs]: decoder"),
        ("graph = \"decoder\"\nrows = 16", "graph = [\"decoder\", \"decoder\"]", "'decoder' is listed twice"),
        ("rows = 16", "edges = { a = \"b\" }", "key 'edges': a bucket of one graph has none"),
        ("decoder = \"model.onnx\"", "decoder = \"model.onnx\"\n\"a+b\" = \"x.onnx\"", "'a+b' is no name of a graph"),
        ("\"decode\"", "\"de, code\"", "key 'buckets': 'de, code' is no name of a bucket"),
        ("\"decode\"", "\"\"", "key 'buckets': '' is no name of a bucket"),
        ("decoder = \"model.onnx\"", "decoder = \"model.onnx\"\n\"a,b\" = \"x.onnx\"", "'a,b' is no name of a graph"),
        ("rows = 16", "rows = 0", "key 'rows': a run takes at least one token"),
        ("rows = 16", "rows = 65", "key 'rows': 65 rows, and the context has 64"),
        ("context - rows", "context - rows -", "key 'dims.past_sequence_length': 'context - rows -' is no sum"),
        ("context - rows", "rows - context", "is negative: -48"),
        ("context - rows", "context - row", "'row' is neither a number, rows nor context"),
        ("\"decode\"", "\"prefill\"", "two are called 'prefill'"),
    ] {
        let e = error(from, to);
        assert!(e.contains(expect), "{e}");
    }
}

/// Manifests in a folder; `load` reads the first.
fn load(manifests: &[(&str, &str)]) -> Result<Manifest> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in manifests {
        std::fs::create_dir(dir.path().join(name)).unwrap();
        std::fs::write(dir.path().join(name).join("model.toml"), text).unwrap();
    }
    let name = manifests[0].0;
    let loaded = Manifest::load(&dir.path().join(name).join("model.toml"), name);
    let short = |path: &Path| path.strip_prefix(dir.path()).unwrap().to_path_buf();
    let prefix = format!("{}/", dir.path().display());
    match loaded {
        Ok(m) => Ok(Manifest { homes: m.homes.iter().map(|h| short(h)).collect(), ..m }),
        Err(e) => Err(Error::new("manifest", e.to_string().replace(&prefix, ""))),
    }
}

#[test]
fn a_manifest_inherits_what_it_does_not_say() {
    let child = "extends = \"tiny\"\ncontext = 32\nprecision = \"fp32\"\n[dims]\nbatch_size = 3\n[[buckets]]\nname = \"one\"\ngraph = \"decoder\"";
    let m = load(&[("small", child), ("tiny", DECODER)]).unwrap();
    assert_eq!(
        (m.name.as_str(), m.title.as_str(), m.precision, m.context),
        ("small", "Tiny", Precision::Fp32, Some(32))
    );
    let dims: Vec<usize> = m.buckets[0].dims.values().copied().collect();
    assert_eq!((m.buckets.len(), dims), (1, vec![3, 31, 1]), "buckets are replaced, dimensions are merged");
    assert_eq!(m.homes, [PathBuf::from("small"), PathBuf::from("tiny")]);
    assert_eq!(m.cache, "tiny");
}

#[test]
fn activations_are_the_graphs_own_unless_asked_for_and_inherited() {
    let asked = |text: &str| Manifest::parse(text, "tiny").unwrap().activations;
    let parent = DECODER.replace("context = 64", "context = 64\nactivations = \"fp16\"");
    assert_eq!((asked(DECODER), asked(&parent)), (None, Some(Activations::F16)));
    let child = |text: &str| load(&[("small", text), ("tiny", &parent)]).unwrap().activations;
    assert_eq!(child("extends = \"tiny\""), Some(Activations::F16));
    assert_eq!(child("extends = \"tiny\"\nactivations = \"fp32\""), Some(Activations::F32));
}

#[test]
fn a_child_of_a_child_inherits_from_both() {
    let m = load(&[("c", "extends = \"b\"\ntitle = \"C\""), ("b", "extends = \"a\"\ncontext = 128"), ("a", DECODER)])
        .unwrap();
    assert_eq!((m.title.as_str(), m.context, m.licence.as_str()), ("C", Some(128), "Apache-2.0"));
}

#[test]
fn loops_and_missing_parents_name_both_files() {
    for (manifests, expect) in [
        (
            vec![("a", "extends = \"b\""), ("b", "extends = \"a\"")],
            "b/model.toml: key 'extends': a -> b -> a is a loop",
        ),
        (vec![("a", "extends = \"a\"")], "a/model.toml: key 'extends': a -> a is a loop"),
        (vec![("a", "extends = \"x\"")], "a/model.toml: key 'extends': 'x' is no model: there is no x/model.toml"),
        (vec![("a", "extends = \"../x\"")], "a/model.toml: key 'extends': '../x' is no model name"),
        (vec![("a", "extends = 3")], "a/model.toml: key 'extends': is no name of a model"),
        (vec![("a", "extends = \"b\""), ("b", "title = ")], "b/model.toml: line 1: "),
        (vec![("a", "extends = \"b\"\nlicense = \"x\""), ("b", DECODER)], "a/model.toml: unknown field `license`"),
    ] {
        let e = load(&manifests).unwrap_err().to_string();
        assert!(e.contains(expect), "{e}");
    }
}

#[test]
fn a_graph_may_be_in_one_of_several_files() {
    let text = DECODER.replace("\"model.onnx\"", "[\"onnx/model.onnx\", \"model.onnx\"]");
    let m = Manifest::parse(&text, "tiny").unwrap();
    assert_eq!(m.graphs["decoder"], ["onnx/model.onnx", "model.onnx"]);
}

#[test]
fn sources_are_addresses_of_files_in_the_models_folder() {
    let with = |source: &str| Manifest::parse(&format!("{DECODER}\n[sources]\n{source}"), "tiny");
    let good = "\"onnx/model.onnx\" = { url = \"https://example.org/model.onnx\" }";
    assert_eq!(with(good).unwrap().sources["onnx/model.onnx"].sha256, None);
    for (from, to, expect) in [
        ("onnx/model", "../model", "key 'sources.\"../model.onnx\"': is no path inside"),
        ("onnx/model", "/model", "is no path inside"),
        ("https", "ftp", "'ftp://example.org/model.onnx' is neither https:// nor http://"),
        (" }", ", sha256 = \"AB\" }", "'AB' is no sha256"),
        ("url", "uri", "unknown field `uri`"),
    ] {
        let e = with(&good.replace(from, to)).unwrap_err().to_string();
        assert!(e.contains(expect), "{e}");
    }
}

#[test]
fn quantising_has_defaults_and_bounds() {
    let with = |table: &str| Manifest::parse(&DECODER.replace("[graphs]", &format!("{table}\n[graphs]")), "tiny");
    assert_eq!(with("").unwrap().quantise, Settings::default());
    let m = with("[quantise]\ngroup = 128\nzero = \"point\"\ntable_bits = 4").unwrap();
    assert_eq!(m.quantise.named("nearest"), "q4_g128_point, table q4_g64_mid, nearest");
    for (line, says) in [
        ("group = 48", "key 'quantise': group is 48; 32, 64 and 128 are possible"),
        ("bits = 3", "bits is 3; 4 and 8 are possible"),
        ("zero = \"middle\"", "unknown variant `middle`"),
        ("colour = 1", "unknown field `colour`"),
    ] {
        let e = with(&format!("[quantise]\n{line}")).unwrap_err().to_string();
        assert!(e.contains(says), "{e}");
    }
}

#[test]
fn names_stay_inside_their_folder() {
    for name in ["", "..", ".x", "a/b", "a b", "ä"] {
        assert!(is_name(name).is_err(), "{name}");
    }
    assert!(is_name("Qwen2.5-0.5B_int4").is_ok());
}
