//! A model of several graphs on the command line.

use super::{onnxcast, refusal, stdout, tree};
use std::fs;
use tempfile::TempDir;

/// A project with a vision-language model in fp16, and the same in int4.
fn project() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let data = tree().join("tests/data/smolvlm-tiny");
    let manifest = fs::read_to_string(data.join("model.toml")).unwrap();
    for name in ["vlm", "vlm-int4"] {
        let home = dir.path().join("models").join(name);
        fs::create_dir_all(&home).unwrap();
        for graph in ["vision.onnx", "embed.onnx", "decoder.onnx"] {
            fs::copy(data.join(graph), home.join(graph)).unwrap();
        }
        let precision = if name == "vlm" { "precision = \"fp16\"" } else { "precision = \"int4\"" };
        fs::write(home.join("model.toml"), manifest.replace("precision = \"fp32\"", precision)).unwrap();
    }
    dir
}

#[test]
fn a_pool_of_several_graphs_is_quantised_without_its_files_as_a_compile_would() {
    let dir = project();
    let read = |name: &str| fs::read(dir.path().join("generated").join(name)).unwrap();
    onnxcast(dir.path(), &["compile", "vlm-int4"]).success();
    let (pool, program) = (read("vlm-int4/weights.pool"), read("vlm-int4/program.rs"));
    onnxcast(dir.path(), &["compile", "vlm"]).success();
    fs::remove_dir_all(dir.path().join("models")).unwrap();
    fs::remove_dir_all(dir.path().join("generated/vlm-int4")).unwrap();
    onnxcast(dir.path(), &["quantize", "generated/vlm/weights.pool", "--name", "vlm-int4"]).success();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).lines().skip(1).collect::<Vec<_>>().join("\n");
    assert_eq!(text(&read("vlm-int4/program.rs")), text(&program), "all but the line that names the source");
    assert!(read("vlm-int4/weights.pool") == pool, "the pools differ");
    let card = String::from_utf8(read("vlm-int4/assets/card.json")).unwrap();
    assert!(card.contains("\"bucket\": \"vision\""), "{card}");
}

#[test]
fn every_bucket_is_explained_by_its_kind() {
    let dir = project();
    let text = stdout(&onnxcast(dir.path(), &["graph", "vlm"]).success());
    let heads: Vec<&str> = text.lines().filter(|l| l.starts_with("# bucket ")).collect();
    assert_eq!(
        heads,
        [
            "# bucket vision, 1 rows, graph vision",
            "# bucket prefill, 4 rows, graph embed+decoder, decoder",
            "# bucket decode, 1 rows, graph embed+decoder, decoder",
            "# bucket embed, 5 rows, graph embed",
            "# bucket as-it-stands, 3 rows, graph decoder",
        ]
    );
    let text = stdout(&onnxcast(dir.path(), &["explain", "vlm"]).success());
    assert!(text.contains("1 lookups take rows of pictures too"), "{text}");
}

#[test]
fn edges_that_do_not_join_are_refused_with_what_there_is() {
    let dir = project();
    let path = dir.path().join("models/vlm/model.toml");
    let manifest = fs::read_to_string(&path).unwrap();
    let list = "graph = [\"embed\", \"decoder\"]";
    for (graphs, expect) in [
        (
            "graph = [\"vision\", \"decoder\"]",
            "nothing of 'vision' goes into the graphs after it: it gives image_embeds f32[1,4,64]",
        ),
        ("graph = [\"decoder\", \"embed\"]", "nothing of 'decoder' goes into the graphs after it"),
        ("graph = [\"vision\", \"decoder\"]\nedges = { inputs_embeds = \"image_embeds\" }", "no input is token ids"),
        (
            "graph = [\"embed\", \"decoder\"]\nedges = { inputs_embed = \"inputs_embeds\" }",
            "no later graph has an input 'inputs_embed'",
        ),
    ] {
        fs::write(&path, manifest.replacen(list, graphs, 1)).unwrap();
        let said = refusal(dir.path(), &["compile", "vlm"]);
        assert!(said.contains(expect) && said.contains("bucket prefill"), "{said}");
    }
}
