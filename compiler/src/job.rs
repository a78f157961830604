//! What to compile. In: a model's name and the user's overrides. Out: the manifest and the files it names, found and read. Promise:
//! all that is missing is found before any work begins.

use crate::error::{Error, Result};
use crate::fetch::{self, Place};
use crate::files;
use crate::graph::Activations;
use crate::import::{Bindings, inspect};
use crate::init;
use crate::lock::{LOCK, Lock};
use crate::manifest::{self, Bucket, MANIFEST, Manifest};
use crate::quantise::{Method, Settings};
use crate::storage::{Kv, Precision};
use crate::texts::{self, TextFiles};
use crate::workflow::{self, Understood};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The user's wishes.
#[derive(Clone, Default, Debug)]
pub struct Wish {
    /// The project's root: `models`, `generated` and `.cache` are in it.
    pub project: PathBuf,
    pub name: String,
    /// A manifest elsewhere.
    pub manifest: Option<PathBuf>,
    /// The user's own file or folder, instead of the manifest's.
    pub onnx: Option<PathBuf>,
    pub precision: Option<Precision>,
    pub kv: Option<Kv>,
    pub activations: Option<Activations>,
    pub quantise: QuantiseWish,
    /// Compile the graph as it stands, at these dimensions.
    pub dims: Option<Bindings>,
    /// Plan only: weights may be absent.
    pub without_weights: bool,
    /// Unknown keys of workflow metadata are left out.
    pub lossy: bool,
}

/// What to do differently from the manifest's `[quantise]`.
#[derive(Clone, Default, Debug)]
pub struct QuantiseWish {
    pub method: Option<Method>,
    pub calibration: Option<PathBuf>,
    pub tokens: Option<usize>,
    pub salient: Option<u16>,
}

impl QuantiseWish {
    /// The settings' own text is beside a manifest in one of `homes`.
    pub fn apply(&self, to: &mut Settings, homes: &[PathBuf]) {
        to.method = self.method.or(to.method);
        to.tokens = self.tokens.unwrap_or(to.tokens);
        to.salient = self.salient.unwrap_or(to.salient);
        let given = to.calibration.as_ref().map(|path| beside(homes, path));
        to.calibration = self.calibration.clone().or(given);
    }
}

/// The text that weights are calibrated on, where the settings name one and mean to read it.
pub fn calibration(settings: &Settings) -> Result<Option<String>> {
    let Some(path) = settings.calibration.as_ref().filter(|_| settings.method != Some(Method::Nearest)) else {
        return Ok(None);
    };
    let failed = |e: std::io::Error| Error::new("calibration", e.to_string()).at(path.display().to_string());
    let text = std::fs::read_to_string(path).map_err(failed);
    text.map(Some).map_err(|e| e.hint("method = \"nearest\" under [quantise] needs no text"))
}

/// A model ready to be compiled.
#[derive(Debug)]
pub struct Job {
    pub manifest: Manifest,
    /// The manifest as generated code names it: relative to the project.
    pub shown: String,
    graphs: BTreeMap<String, PathBuf>,
    pub text: Option<TextFiles>,
    /// How the package says that it runs.
    pub workflow: Option<Understood>,
    pub golden: Option<Vec<u8>>,
    /// A text to calibrate on; the compiler has one of its own.
    pub calibration: Option<String>,
    pub lock: Lock,
    /// Where the lock is kept; none for weights that are not the manifest's.
    pub lock_path: Option<PathBuf>,
    /// The lock is read and not written: it tells how the manifest's precision stores the weights, and the user wants another.
    pub lock_stays: bool,
    /// A pool is there that may be this plan's: what the lock knows need not be quantised again.
    pub reuse: bool,
    pub without_weights: bool,
    /// The manifest that was made because there was none: its text, to be kept in generated/NAME.
    pub made: Option<String>,
}

/// Folders in which a model's files are looked for, first to last.
struct Folders(Vec<PathBuf>);

/// A manifest and where it is.
struct Found {
    manifest: Manifest,
    home: PathBuf,
    shown: String,
    made: Option<String>,
}

impl Found {
    fn of(wish: &Wish) -> Result<Found> {
        manifest::is_name(&wish.name)?;
        let Some(path) = find_manifest(wish) else { return Found::made(wish) };
        let home = path.parent().unwrap_or(Path::new(".")).to_path_buf();
        Ok(Found { manifest: Manifest::load(&path, &wish.name)?, home, shown: shown(&wish.project, &path), made: None })
    }

    /// One for the user's own model.
    fn made(wish: &Wish) -> Result<Found> {
        let Some(onnx) = &wish.onnx else { return Err(nobody(&wish.name)) };
        let text = match &wish.dims {
            Some(_) => init::raw(onnx)?,
            None => init::manifest(onnx, wish.lossy)?,
        };
        let shown = format!("generated/{}/{MANIFEST}", wish.name);
        let home = files::folder(&wish.project, &wish.name);
        Ok(Found { manifest: Manifest::parse(&text, &wish.name)?, home, shown, made: Some(text) })
    }
}

impl Job {
    /// Finds the manifest (or makes one for `onnx`) and everything it names.
    pub fn find(wish: &Wish) -> Result<Job> {
        let Found { mut manifest, home, shown, made } = Found::of(wish)?;
        let lock_stays = wish.precision.is_some_and(|p| p != manifest.precision);
        manifest.precision = wish.precision.unwrap_or(manifest.precision);
        manifest.kv = wish.kv.or(manifest.kv);
        manifest.activations = wish.activations.or(manifest.activations);
        if wish.kv.is_some() && manifest.context.is_none() {
            return Err(Error::new("manifest", "without a context there is no cache to store").at("--kv"));
        }
        if let Some(dims) = &wish.dims {
            as_it_stands(&mut manifest, dims, wish);
        }
        if manifest.homes.is_empty() {
            manifest.homes.push(home.clone());
        }
        wish.quantise.apply(&mut manifest.quantise, &manifest.homes);
        let folders = Folders::of(wish, &manifest);
        let graphs = graphs(wish, &manifest, &folders).map_err(|e| without(wish, &manifest, e))?;
        if let Some(dims) = &wish.dims {
            known_symbols(dims, &graphs)?;
        }
        let workflow = manifest.workflow.as_ref().map(|w| {
            let file = folders.find(&w.metadata).map_err(|e| without(wish, &manifest, e))?;
            workflow::read(&file, w.allow_lossy || wish.lossy)
        });
        let workflow = workflow.transpose()?;
        let text =
            match manifest.text.as_ref().map(|t| texts::gather(t, &|name| folders.find(name).and_then(|p| read(&p)))) {
                // A plan needs no tokenizer; the executable would take --prompt-ids only.
                Some(Err(_)) if wish.without_weights => None,
                other => other.transpose().map_err(|e| without(wish, &manifest, e))?,
            };
        if let Some(name) = manifest.picture.as_ref().and_then(|p| p.preprocessor.clone()) {
            let file = folders.find(&name).and_then(|p| read(&p)).map_err(|e| without(wish, &manifest, e))?;
            manifest.fill_picture(&name, &file).map_err(|e| e.at(name))?;
        }
        let golden = manifest.golden.as_ref().map(|g| read(&beside(&manifest.homes, Path::new(g)))).transpose()?;
        let quantises = manifest.precision == Precision::Int4 && !wish.without_weights;
        let calibration = if quantises { calibration(&manifest.quantise)? } else { None };
        let lock_path = lock_path(wish, &home);
        let lock = match &lock_path {
            Some(path) if path.is_file() => {
                let text = String::from_utf8_lossy(&read(path)?).into_owned();
                Lock::parse(&text).map_err(|e| e.at(path.display().to_string()))?
            }
            _ => Lock::default(),
        };
        let without_weights = wish.without_weights;
        let files = (text, golden);
        Ok(Job {
            graphs,
            workflow,
            calibration,
            lock,
            lock_stays,
            without_weights,
            made,
            ..Job::of(manifest, shown, files, lock_path)
        })
    }

    /// A job without ONNX files, for graphs that come from elsewhere.
    pub fn of(
        manifest: Manifest,
        shown: String,
        (text, golden): (Option<TextFiles>, Option<Vec<u8>>),
        lock_path: Option<PathBuf>,
    ) -> Job {
        let (graphs, lock, made) = (BTreeMap::new(), Lock::default(), None);
        let (lock_stays, reuse, without_weights) = (false, false, false);
        let (workflow, calibration) = (None, None);
        Job {
            manifest,
            shown,
            graphs,
            text,
            workflow,
            golden,
            calibration,
            lock,
            lock_path,
            lock_stays,
            reuse,
            without_weights,
            made,
        }
    }

    /// The file of a graph that the manifest names.
    pub fn graph(&self, name: &str) -> Result<&Path> {
        let missing = || Error::new("manifest", format!("there is no graph '{name}'"));
        self.graphs.get(name).map(PathBuf::as_path).ok_or_else(missing)
    }
}

/// The lock of the manifest's folder where there is one, else that of generated/NAME, in which the first compile leaves it. A plan
/// without weights takes only the former: what was compiled here before must not change it.
fn lock_path(wish: &Wish, home: &Path) -> Option<PathBuf> {
    if wish.onnx.is_some() || wish.dims.is_some() {
        return None;
    }
    let own = home.join(LOCK);
    if own.is_file() || wish.without_weights {
        return Some(own);
    }
    Some(files::folder(&wish.project, &wish.name).join(LOCK))
}

/// A file beside the manifest, or beside one that it extends.
fn beside(homes: &[PathBuf], name: &Path) -> PathBuf {
    let places = || homes.iter().map(|home| home.join(name));
    let found = places().find(|p| p.is_file()).or_else(|| places().next());
    found.unwrap_or(name.into())
}

/// There is no model of this name.
pub fn nobody(name: &str) -> Error {
    Error::new("manifest", "there is no such file")
        .at(format!("models/{name}/{MANIFEST}"))
        .hint("name a model of models/, or give onnx=PATH to have a manifest made")
}

/// The manifest of a model by name, or the one the user points to.
pub fn find_manifest(wish: &Wish) -> Option<PathBuf> {
    let kept = wish.project.join("models").join(&wish.name).join(MANIFEST);
    let known = [kept.clone(), files::folder(&wish.project, &wish.name).join(MANIFEST)];
    match &wish.manifest {
        Some(path) => Some(path.clone()),
        // A manifest that was made for another file is not the one for this.
        None if wish.onnx.is_some() => Some(kept).filter(|p| p.is_file()),
        None => known.into_iter().find(|p| p.is_file()),
    }
}

/// A path as generated code shows it: never absolute.
fn shown(project: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(project).unwrap_or(path);
    if inside.is_relative() {
        return inside.display().to_string();
    }
    path.file_name().map_or(MANIFEST.into(), |n| n.to_string_lossy().into_owned())
}

/// One bucket, no cache management, fp32 unless told otherwise.
fn as_it_stands(m: &mut Manifest, dims: &Bindings, wish: &Wish) {
    m.precision = wish.precision.unwrap_or(Precision::Fp32);
    m.activations = wish.activations;
    m.kv = None;
    m.context = None;
    m.text = None;
    m.workflow = None;
    m.picture = None;
    m.golden = None;
    let (graphs, edges) = m.buckets.first().map(|b| (b.graphs.clone(), b.edges.clone())).unwrap_or_default();
    m.graphs.retain(|name, _| graphs.contains(name));
    m.buckets = vec![Bucket { name: "run".into(), graphs, edges, raw: true, rows: 1, dims: dims.clone() }];
}

/// A symbol that the graph does not have is a slip of the pen.
fn known_symbols(dims: &Bindings, graphs: &BTreeMap<String, PathBuf>) -> Result<()> {
    let mut symbols = BTreeSet::new();
    for path in graphs.values() {
        let inspection = inspect(path)?;
        symbols.extend(inspection.symbols.into_iter().chain(inspection.numbers));
    }
    let Some(unknown) = dims.keys().find(|name| !symbols.contains(*name)) else { return Ok(()) };
    let known: Vec<&str> = symbols.iter().map(String::as_str).collect();
    let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
    let what = format!("the graph has no dimension '{unknown}'; its symbols: {known}");
    let paths: Vec<String> = graphs.values().map(|path| path.display().to_string()).collect();
    Err(Error::new("dims", what).at(paths.join(", ")))
}

impl Folders {
    fn of(wish: &Wish, m: &Manifest) -> Folders {
        let own = wish.onnx.as_deref().map(own_folders).unwrap_or_default();
        let cache = Place::of(&wish.project, m).folder;
        let given = m.folder.as_ref().and_then(|f| Some(m.homes.first()?.join(f)));
        let mut all: Vec<PathBuf> = own.into_iter().chain(given).collect();
        // Without weights the graph in the tree is enough, and what a cache holds must not change the outcome.
        let homes = m.homes.iter().cloned();
        if wish.without_weights {
            all.extend(homes.chain([cache]));
        } else if !m.sources.is_empty() {
            all.push(cache); // what the tree has of it are graphs without weights
        } else {
            all.extend([cache].into_iter().chain(homes));
        }
        Folders(all)
    }

    fn find(&self, file: &str) -> Result<PathBuf> {
        self.first(std::slice::from_ref(&file))
    }

    /// The first of `files` in the first folder that has one.
    fn first(&self, files: &[impl AsRef<str>]) -> Result<PathBuf> {
        let found = self.0.iter().find_map(|f| files.iter().map(|n| f.join(n.as_ref())).find(|p| p.is_file()));
        found.ok_or_else(|| {
            let names: Vec<String> = files.iter().map(|n| format!("'{}'", n.as_ref())).collect();
            let places: Vec<String> = self.0.iter().map(|f| f.display().to_string()).collect();
            Error::new("manifest", format!("file {} is not in {}", names.join(" or "), places.join(", nor in ")))
                .hint("make model=NAME prepares a model of models/; onnx=PATH names a file or folder of your own")
        })
    }
}

/// What to do about a missing file, where the manifest says where it comes from.
fn without(wish: &Wish, m: &Manifest, e: Error) -> Error {
    if m.sources.is_empty() || wish.onnx.is_some() {
        return e;
    }
    let by_hand = fetch::by_hand(m, &Place::of(&wish.project, m));
    e.hint(format!("`onnxcast fetch {}` downloads it; or {by_hand}", m.name))
}

/// Where the files of the user's model are: beside it, and one above where exports keep the graph in a folder `onnx`.
fn own_folders(onnx: &Path) -> Vec<PathBuf> {
    let folder = if onnx.is_dir() { onnx } else { onnx.parent().unwrap_or(Path::new("")) };
    let mut out = vec![folder.to_path_buf()];
    if std::path::absolute(folder).is_ok_and(|f| f.ends_with("onnx")) {
        out.push(folder.join(".."));
    }
    out
}

fn graphs(wish: &Wish, m: &Manifest, folders: &Folders) -> Result<BTreeMap<String, PathBuf>> {
    let mut out = BTreeMap::new();
    let alone = m.graphs.len() == 1;
    for (name, files) in &m.graphs {
        let path = match &wish.onnx {
            Some(path) if !path.is_dir() && alone => path.clone(),
            // The user's folder is meant, and no other place; an export of another layout is found by its only model.
            Some(path) if path.is_dir() => match Folders(vec![path.clone()]).first(files) {
                Err(_) if alone => init::only_model(path)?,
                found => found?,
            },
            _ => folders.first(files)?,
        };
        out.insert(name.clone(), path);
    }
    Ok(out)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|e| Error::new("manifest", e.to_string()).at(path.display().to_string()))
}

#[cfg(test)]
mod tests;
