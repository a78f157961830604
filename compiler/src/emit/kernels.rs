//! Kernels as Rust. In: the program's kernels. Out: a `shader!` module for each of their forms, and the files that these read: GLSL,
//! and SPIR-V for the matrix forms, which `shader!` could not finish. Promise: in program order.

use super::File;
use crate::error::Result;
use crate::shaders;
use onnxcast_runtime::program::Kernel;
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::collections::BTreeMap;

pub fn tokens(model: &str, kernels: &[Kernel]) -> TokenStream {
    let modules = kernels.iter().map(|k| module(model, k));
    let forms = kernels.iter().map(|k| {
        let name = format_ident!("{}", &*k.name);
        let matrix = (!k.matrix.is_empty()).then(|| format_ident!("{}", matrix_name(k)));
        let matrix = matrix.iter();
        quote!(forms!(#name #(, #matrix)*))
    });
    quote! {
        //! One SPIR-V module a kernel, specialised by its defines.

        use onnxcast_runtime::model::Forms;
        use onnxcast_runtime::{form, forms};

        /// In the order of the program's kernels.
        pub static LOADERS: &[Forms] = &[#(#forms),*];

        #(#modules)*
    }
}

fn module(model: &str, kernel: &Kernel) -> TokenStream {
    let name = format_ident!("{}", &*kernel.name);
    let path = format!("generated/{model}/shaders/{}", kernel.source);
    let defines = kernel.defines.iter().map(|(k, v)| quote!((#k, #v)));
    let matrix = matrix_module(model, kernel);
    quote!(form! { #name, path: #path, define: [#(#defines),*] #matrix })
}

/// The name of the module and the file of a kernel's matrix form.
fn matrix_name(kernel: &Kernel) -> String {
    format!("{}_matrix", kernel.name)
}

fn matrix_module(model: &str, kernel: &Kernel) -> TokenStream {
    if kernel.matrix.is_empty() {
        return TokenStream::new();
    }
    let name = format_ident!("{}", matrix_name(kernel));
    let path = format!("generated/{model}/shaders/{name}.spv");
    quote!(, matrix: #name, bytes: #path)
}

/// The sources of all kernels with what they include, and the modules of matrix forms.
pub fn shaders(kernels: &[Kernel]) -> Result<Vec<File>> {
    let mut files = BTreeMap::new();
    for kernel in kernels {
        for (path, text) in shaders::closure(&kernel.source)? {
            files.insert(format!("shaders/{path}").into(), text.as_bytes().to_vec());
        }
        if let Some(words) = shaders::compile_matrix(kernel)? {
            let bytes = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            files.insert(format!("shaders/{}.spv", matrix_name(kernel)).into(), bytes);
        }
    }
    Ok(files.into_iter().collect())
}
