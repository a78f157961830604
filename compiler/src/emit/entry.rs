//! The model's root module. In: the card and texts. Out: `main.rs` and the files it includes. Promise: only small texts are
//! included; weights never are.

use super::{Assets, File};
use proc_macro2::TokenStream;
use quote::quote;

pub fn tokens(assets: &Assets) -> TokenStream {
    let Assets { title, source, licence, precision, .. } = assets;
    let text = text(assets);
    let golden = match assets.golden {
        Some(_) => quote!(Some(include_str!("assets/golden.json"))),
        None => quote!(None),
    };
    let about = format!(" {title}: the model as data, and its entry.");
    quote! {
        #![doc = #about]

        mod kernels;
        mod program;

        use onnxcast_runtime::model::{Card, Model, Text};
        use std::process::ExitCode;

        static MODEL: Model = Model {
            program: program::program,
            kernels: kernels::LOADERS,
            card: Card { title: #title, source: #source, licence: #licence, precision: #precision },
            text: #text,
            golden: #golden,
        };

        /// Runs the executable's command line.
        pub fn run() -> ExitCode {
            onnxcast_runtime::cli::run(&MODEL)
        }
    }
}

fn text(assets: &Assets) -> TokenStream {
    let Some(text) = &assets.text else { return quote!(None::<Text>) };
    let config = match text.config {
        Some(_) => quote!(include_str!("assets/tokenizer_config.json")),
        None => quote!(""),
    };
    let template = match text.template {
        Some(_) => quote!(Some(include_str!("assets/chat_template.jinja"))),
        None => quote!(None),
    };
    let stops = text.stops.iter().map(|s| proc_macro2::Literal::u32_unsuffixed(*s));
    let system = match text.system {
        Some(s) => quote!(Some(#s)),
        None => quote!(None),
    };
    quote! {
        Some(Text {
            tokenizer: include_bytes!("assets/tokenizer.json"),
            config: #config,
            template: #template,
            stops: &[#(#stops),*],
            system: #system,
        })
    }
}

/// What else `main.rs` says of the model, for tools: `onnxcast quantize` reads it.
pub const CARD: &str = "card.json";

/// The files that `main.rs` includes, and the card.
pub fn assets(assets: &Assets) -> Vec<File> {
    let text = assets.text.as_ref();
    let card = serde_json::json!({
        "title": assets.title, "source": assets.source, "licence": assets.licence,
        "stops": text.map(|t| t.stops), "system": text.and_then(|t| t.system),
    });
    let card = format!("{card:#}\n").into_bytes();
    [
        (CARD, Some(card.as_slice())),
        ("tokenizer.json", text.map(|t| t.tokenizer)),
        ("tokenizer_config.json", text.and_then(|t| t.config)),
        ("chat_template.jinja", text.and_then(|t| t.template)),
        ("golden.json", assets.golden),
    ]
    .into_iter()
    .filter_map(|(name, bytes)| Some((format!("assets/{name}").into(), bytes?.to_vec())))
    .collect()
}
