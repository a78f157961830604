//! `[workflow]` of model.toml. In: its keys. Out: which file says how the package runs. Promise: nothing is read here.

use serde::Deserialize;

/// The keys.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The file, in the model's folder.
    pub metadata: String,
    /// Unknown keys in it are left out.
    #[serde(default)]
    pub allow_lossy: bool,
}
