//! Where files are found.

use super::*;

#[test]
fn a_manifest_outside_the_project_is_shown_without_its_folder() {
    assert_eq!(shown(Path::new("/p"), Path::new("/p/models/a/model.toml")), "models/a/model.toml");
    assert_eq!(shown(Path::new("/p"), Path::new("/q/model.toml")), "model.toml");
}

#[test]
fn a_calibration_is_beside_the_manifest_that_names_it_and_read_before_any_work() {
    let project = std::env::temp_dir().join(format!("onnxcast-job-{}", std::process::id()));
    let write = |file: &str, text: &str| {
        let path = project.join("models").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let parent = "title = \"\"\nsource = \"\"\nlicence = \"\"\nprecision = \"int4\"\n[graphs]\nmodel = \"m.onnx\"\n\
        [[buckets]]\nname = \"run\"\ngraph = \"model\"\n[quantise]\ncalibration = \"words.txt\"\n";
    write("parent/model.toml", parent);
    write("parent/m.onnx", "");
    write("parent/words.txt", "a b c");
    write("child/model.toml", "extends = \"parent\"\n");
    let wish = Wish { project: project.clone(), name: "child".into(), ..Wish::default() };
    assert_eq!(Job::find(&wish).unwrap().calibration.as_deref(), Some("a b c"));
    let other = QuantiseWish { calibration: Some(project.join("other.txt")), ..QuantiseWish::default() };
    let e = Job::find(&Wish { quantise: other, ..wish.clone() }).unwrap_err().to_string();
    assert!(e.contains("other.txt") && e.contains("needs no text"), "{e}");
    std::fs::remove_file(project.join("models/parent/words.txt")).unwrap();
    assert!(Job::find(&wish).unwrap_err().to_string().contains("words.txt"));
    let nearest = QuantiseWish { method: Some(Method::Nearest), ..QuantiseWish::default() };
    for unread in [Wish { quantise: nearest, ..wish.clone() }, Wish { precision: Some(Precision::Fp16), ..wish }] {
        assert_eq!(Job::find(&unread).unwrap().calibration, None);
    }
    std::fs::remove_dir_all(&project).unwrap();
}
