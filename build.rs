//! Points src/main.rs at the generated module that ONNXCAST_MODEL names, after checking it against its stamp. Generates nothing.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    println!("cargo::rerun-if-env-changed=ONNXCAST_MODEL");
    match pointer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            println!("cargo::error={what}");
            ExitCode::FAILURE
        }
    }
}

fn pointer() -> Result<(), String> {
    let root = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(|e| e.to_string())?);
    let out = PathBuf::from(env::var("OUT_DIR").map_err(|e| e.to_string())?);
    let module = match env::var("ONNXCAST_MODEL") {
        Ok(name) if !name.is_empty() => {
            let folder = root.join("generated").join(&name);
            check(&folder, &name)?;
            folder.join("main.rs")
        }
        _ => root.join("src/stub.rs"),
    };
    let text = format!("#[path = {:?}]\nmod model;\n", module.display().to_string());
    fs::write(out.join("model.rs"), text).map_err(|e| e.to_string())
}

/// Every file of the folder has the hash that the compiler noted.
fn check(folder: &Path, name: &str) -> Result<(), String> {
    let again = format!("run: make model={name}");
    let stamp = folder.join("stamp");
    println!("cargo::rerun-if-changed={}", stamp.display());
    let lines = fs::read_to_string(&stamp).map_err(|_| format!("generated/{name} is not compiled; {again}"))?;
    for line in lines.lines() {
        let (hash, path) = line.split_once(' ').ok_or_else(|| format!("generated/{name}/stamp is damaged; {again}"))?;
        let file = folder.join(path);
        println!("cargo::rerun-if-changed={}", file.display());
        let bytes = fs::read(&file).map_err(|e| format!("generated/{name}/{path}: {e}; {again}"))?;
        if blake3::hash(&bytes).to_hex().as_str() != hash {
            return Err(format!("generated/{name}/{path} was changed since it was written; {again}"));
        }
    }
    Ok(())
}
