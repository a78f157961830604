//! The model's root module. In: the card and texts. Out: `main.rs` and the files it includes. Promise: only small texts are
//! included; weights never are.

use super::{ASSETS, Assets, CARD, File, GOLDEN, TEMPLATE, TOKENIZER, TOKENIZER_CONFIG};
use crate::manifest::{Law, Token};
use proc_macro2::{Literal, TokenStream};
use quote::{format_ident, quote};

pub fn tokens(assets: &Assets) -> TokenStream {
    let Assets { title, source, licence, precision, .. } = assets;
    let text = text(assets);
    let (sampling_type, sampling) = sampling(assets);
    let (types, picture) = picture(assets);
    let golden = match assets.golden {
        Some(_) => {
            let path = asset(GOLDEN);
            quote!(Some(include_str!(#path)))
        }
        None => quote!(None),
    };
    let about = format!(" {title}: the model as data, and its entry.");
    quote! {
        #![doc = #about]

        mod kernels;
        mod program;

        use onnxcast_runtime::model::{Card, Model, #types Text};
        #sampling_type
        use std::process::ExitCode;

        static MODEL: Model = Model {
            program: program::program,
            kernels: kernels::LOADERS,
            card: Card { title: #title, source: #source, licence: #licence, precision: #precision },
            text: #text,
            sampling: #sampling,
            picture: #picture,
            golden: #golden,
        };

        /// Runs the executable's command line.
        pub fn run() -> ExitCode {
            onnxcast_runtime::cli::run(&MODEL)
        }
    }
}

fn asset(name: &str) -> String {
    format!("{ASSETS}/{name}")
}

fn text(assets: &Assets) -> TokenStream {
    let Some(text) = assets.text else { return quote!(None::<Text>) };
    let [tokenizer, config, template] = [TOKENIZER, TOKENIZER_CONFIG, TEMPLATE].map(asset);
    let config = match &text.config {
        Some(_) => quote!(include_str!(#config)),
        None => quote!(""),
    };
    let template = match &text.template {
        Some(_) => quote!(Some(include_str!(#template))),
        None => quote!(None),
    };
    let stops = text.stops.iter().map(|s| Literal::u32_unsuffixed(*s));
    let system = match &text.system {
        Some(s) => quote!(Some(#s)),
        None => quote!(None),
    };
    quote! {
        Some(Text {
            tokenizer: include_bytes!(#tokenizer),
            config: #config,
            template: #template,
            stops: &[#(#stops),*],
            system: #system,
        })
    }
}

/// What it imports, and the value.
fn sampling(assets: &Assets) -> (TokenStream, TokenStream) {
    let Some(Ok(s)) = assets.sampling.map(|s| s.settings()) else { return (quote!(), quote!(None)) };
    let [temperature, top_p, min_p, repeat_penalty] =
        [s.temperature, s.top_p, s.min_p, s.repeat_penalty].map(Literal::f32_unsuffixed);
    let (top_k, seed) = (Literal::i64_unsuffixed(s.top_k), Literal::u64_unsuffixed(s.seed));
    let counter = match s.counter {
        Some(n) => {
            let n = Literal::u32_unsuffixed(n);
            quote!(Some(#n))
        }
        None => quote!(None),
    };
    let value = quote! {
        Some(Sampling {
            temperature: #temperature,
            top_k: #top_k,
            top_p: #top_p,
            min_p: #min_p,
            repeat_penalty: #repeat_penalty,
            seed: #seed,
            counter: #counter,
        })
    };
    (
        quote!(
            use onnxcast_runtime::sampling::Sampling;
        ),
        value,
    )
}

/// What it needs of `model`, and the value.
fn picture(assets: &Assets) -> (TokenStream, TokenStream) {
    let Some((picture, law)) = &assets.picture else { return (quote!(), quote!(None)) };
    let Law { height, width, resample, rescale, mean, std } = law;
    let number = |x: &f32| Literal::f32_unsuffixed(*x);
    let edges = [height, width].map(|n| Literal::u32_unsuffixed(*n));
    let [height, width] = edges;
    let resample = format_ident!("{resample:?}");
    let (rescale, mean, std) = (number(rescale), mean.iter().map(number), std.iter().map(number));
    let token = match &picture.token {
        Token::Text(text) => quote!(Token::Text(#text)),
        Token::Id(id) => {
            let id = Literal::u32_unsuffixed(*id);
            quote!(Token::Id(#id))
        }
    };
    let (before, after) = (&picture.before, &picture.after);
    let value = quote! {
        Some(Picture {
            height: #height,
            width: #width,
            resample: Resample::#resample,
            rescale: #rescale,
            mean: [#(#mean),*],
            std: [#(#std),*],
            token: #token,
            before: #before,
            after: #after,
        })
    };
    (quote!(Picture, Resample, Token,), value)
}

/// The files that `main.rs` includes, and the card.
pub fn assets(assets: &Assets) -> Vec<File> {
    let text = assets.text;
    let mut card = serde_json::json!({
        "title": assets.title, "source": assets.source, "licence": assets.licence,
        "stops": text.map(|t| &t.stops), "system": text.and_then(|t| t.system.as_ref()),
    });
    if let Some(sampling) = &assets.sampling {
        card["sampling"] = serde_json::json!(sampling);
    }
    if let Some((picture, _)) = &assets.picture {
        card["picture"] = serde_json::json!(picture);
    }
    let card = format!("{card:#}\n").into_bytes();
    [
        (CARD, Some(card.as_slice())),
        (TOKENIZER, text.map(|t| t.tokenizer.as_slice())),
        (TOKENIZER_CONFIG, text.and_then(|t| t.config.as_deref())),
        (TEMPLATE, text.and_then(|t| t.template.as_deref())),
        (GOLDEN, assets.golden),
    ]
    .into_iter()
    .filter_map(|(name, bytes)| Some((asset(name).into(), bytes?.to_vec())))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::{Picture, Sampling};
    use onnxcast_runtime::model::Resample;

    #[test]
    fn pictures_and_sampling_are_printed_with_every_value_and_kept_in_the_card() {
        let toml = "bucket = \"vision\"\nmost = 4\ntoken = \"<image>\"\nbefore = \"<b>\"\nresample = \"lanczos\"";
        let picture: Picture = toml::from_str(toml).unwrap();
        let law = Law {
            height: 4,
            width: 6,
            resample: Resample::Lanczos,
            rescale: 1.0 / 255.0,
            mean: [0.5; 3],
            std: [0.5, 0.25, 1.0],
        };
        let assets = Assets {
            title: "",
            source: "",
            licence: "",
            precision: "",
            manifest: "",
            text: None,
            sampling: Some(Sampling { temperature: Some(0.7), top_k: Some(20), ..Sampling::default() }),
            picture: Some((&picture, law)),
            golden: None,
            graphs: "",
        };
        let printed = tokens(&assets).to_string().replace(' ', "");
        let value = "picture:Some(Picture{height:4,width:6,resample:Resample::Lanczos,rescale:0.003921569,mean:[0.5,0.5,0.5],\
            std:[0.5,0.25,1.0],token:Token::Text(\"<image>\"),before:\"<b>\",after:\"\",})";
        assert!(printed.contains(value), "{printed}");
        let drawn = "sampling:Some(Sampling{temperature:0.7,top_k:20,top_p:1.0,min_p:0.0,repeat_penalty:1.0,seed:0,counter:None,})";
        assert!(printed.contains(drawn), "{printed}");
        assert!(printed.contains("model::{Card,Model,Picture,Resample,Token,Text}"), "{printed}");
        let card: serde_json::Value = serde_json::from_slice(&super::assets(&assets)[0].1).unwrap();
        assert_eq!(serde_json::from_value::<Sampling>(card["sampling"].clone()).unwrap(), assets.sampling.unwrap());
        assert_eq!(serde_json::from_value::<Picture>(card["picture"].clone()).unwrap(), picture);
    }
}
