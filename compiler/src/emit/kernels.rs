//! Kernels as Rust. In: the program's kernels. Out: one `shader!` module each, and the GLSL they read. Promise: in program order.

use super::File;
use crate::error::Result;
use crate::shaders;
use onnxcast_runtime::program::Kernel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::collections::BTreeMap;

pub fn tokens(model: &str, kernels: &[Kernel]) -> TokenStream {
    let modules = kernels.iter().map(|k| module(model, k));
    let names = kernels.iter().map(|k| format_ident!("{}", &*k.name));
    quote! {
        //! One SPIR-V module a kernel, specialised by its defines.

        use onnxcast_runtime::model::Load;

        /// In the order of the program's kernels.
        pub static LOADERS: &[Load] = &[#(#names::load),*];

        #(#modules)*
    }
}

fn module(model: &str, kernel: &Kernel) -> TokenStream {
    let name = format_ident!("{}", &*kernel.name);
    let path = format!("generated/{model}/shaders/{}", kernel.source);
    let defines = kernel.defines.iter().map(|(k, v)| quote!((#k, #v)));
    quote! {
        mod #name {
            use onnxcast_runtime::vulkano_shaders;

            vulkano_shaders::shader! {
                ty: "compute",
                path: #path,
                vulkan_version: "1.3",
                spirv_version: "1.6",
                generate_structs: false,
                define: [#(#defines),*],
            }
        }
    }
}

/// The sources of all kernels with what they include.
pub fn shaders(kernels: &[Kernel]) -> Result<Vec<File>> {
    let mut files = BTreeMap::new();
    for kernel in kernels {
        for (path, text) in shaders::closure(&kernel.source)? {
            files.insert(format!("shaders/{path}").into(), text.as_bytes().to_vec());
        }
    }
    Ok(files.into_iter().collect())
}
