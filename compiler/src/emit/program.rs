//! The program as Rust constants. In: a `Program`. Out: tokens whose value is that program. Promise: a row a dispatch, kernels by
//! name, ONNX names as notes.

use super::runs::runs;
use onnxcast_runtime::program::layers::Named;
use onnxcast_runtime::program::{
    Arg, Block, Bucket, Dispatch, Elem, Kernel, Phase, Pictures, Port, Program, State, Tensor, Text, Variant,
};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};

pub fn tokens(program: &Program) -> TokenStream {
    let Program { name, plan_hash, kernels, variants, tensors, states, buckets, decoder } = program;
    let names = kernels.iter().enumerate().map(|(i, k)| {
        let (constant, i) = (constant(k), number(i as u64));
        quote!(const #constant: u32 = #i;)
    });
    let decoder = match decoder {
        Some(d) => {
            let [context, vocab, decode, prefill] =
                [d.context, d.vocab, d.decode, d.prefill].map(|n| number(u64::from(n)));
            let pictures = pictures(d.pictures);
            quote!(Some(Decoder {
                context: #context,
                vocab: #vocab,
                decode: #decode,
                prefill: #prefill,
                pictures: #pictures,
            }))
        }
        None => quote!(None::<Decoder>),
    };
    let kernel_rows = kernels.iter().map(kernel);
    let variant_rows = variants.iter().map(|v| variant(v, kernels));
    let tensor_runs = rolled(tensors, tensor);
    let state_runs = rolled(states, state);
    let statics = buckets.iter().map(|b| bucket_items(b, kernels));
    let bucket_rows = buckets.iter().map(bucket);
    quote! {
        //! Kernels, extents and dispatches in the order in which they run.
        #![allow(clippy::unreadable_literal, unused_imports)]

        use onnxcast_runtime::program::Arg::{
            Arena, Column, History, Input, Logits, Output, Ring, Step, Tokens, Weight,
        };
        use onnxcast_runtime::program::layers::{Run, unrolled};
        use onnxcast_runtime::program::{
            Arg, Block, Bucket, Decoder, Dispatch, Elem, Kernel, List, Phase, Port, Program, State, Tensor, Variant,
        };
        use onnxcast_runtime::{columns, kernel, port, row, state, tensor};
        use std::borrow::Cow::Borrowed;

        pub fn program() -> Program {
            Program {
                name: Borrowed(#name),
                plan_hash: Borrowed(#plan_hash),
                kernels: Borrowed(KERNELS),
                variants: Borrowed(VARIANTS),
                tensors: unrolled(TENSORS),
                states: unrolled(STATES),
                buckets: Borrowed(BUCKETS),
                decoder: #decoder,
            }
        }

        #(#names)*

        static KERNELS: &[Kernel] = &[#(#kernel_rows),*];

        static VARIANTS: &[Variant] = &[#(#variant_rows),*];

        static TENSORS: &[Run<Tensor>] = &[#tensor_runs];

        static STATES: &[Run<State>] = &[#state_runs];

        static BUCKETS: &[Bucket] = &[#(#bucket_rows),*];

        #(#statics)*
    }
}

fn variant(variant: &Variant, kernels: &[Kernel]) -> TokenStream {
    let Variant { of, by, grid } = variant;
    let ([of, by], grid) = ([of, by].map(|i| kernel_name(*i, kernels)), numbers(grid));
    quote!(Variant { of: #of, by: #by, grid: #grid })
}

fn pictures(pictures: Option<Pictures>) -> TokenStream {
    let Some(p) = pictures else { return quote!(None) };
    let [bucket, state, rows, slots] = [p.bucket, p.state, p.rows, p.slots].map(|n| number(u64::from(n)));
    quote!(Some(onnxcast_runtime::program::Pictures { bucket: #bucket, state: #state, rows: #rows, slots: #slots }))
}

fn number(n: u64) -> Literal {
    Literal::u64_unsuffixed(n)
}

fn numbers(list: &[u32]) -> TokenStream {
    let list = list.iter().map(|n| number(u64::from(*n)));
    quote!([#(#list),*])
}

/// The constant that names a kernel's index.
fn constant(kernel: &Kernel) -> Ident {
    format_ident!("{}", kernel.name.to_uppercase())
}

fn kernel(kernel: &Kernel) -> TokenStream {
    let Kernel { name, source, defines, args, writes, matrix } = kernel;
    let list = |defines: &[(Text, Text)]| {
        let defines = defines.iter().map(|(k, v)| {
            let k = format_ident!("{}", &**k);
            quote!(#k = #v)
        });
        quote!([#(#defines),*])
    };
    let matrix = if matrix.is_empty() {
        TokenStream::new()
    } else {
        let defines = list(matrix);
        quote!(, matrix #defines)
    };
    let (defines, args, writes) = (list(defines), number(u64::from(*args)), number(u64::from(*writes)));
    quote!(kernel!(#name, #source, args #args, writes #writes, #defines #matrix))
}

fn tensor(tensor: &Tensor) -> TokenStream {
    let Tensor { name, layout, shape, bytes } = tensor;
    let (layout, shape, bytes) = (format_ident!("{}", &**layout), numbers(shape), number(*bytes));
    quote!(tensor!(#name, #layout, #shape, #bytes))
}

/// Layers that repeat once, with their number.
fn rolled<T: Named + PartialEq>(rows: &[T], print: fn(&T) -> TokenStream) -> TokenStream {
    let runs = runs(rows);
    let runs = runs.iter().map(|run| {
        let (layers, rows) = (number(run.layers as u64), run.rows.iter().map(print));
        quote!(Run { layers: #layers, rows: &[#(#rows),*] })
    });
    quote!(#(#runs),*)
}

fn elem(elem: Elem) -> TokenStream {
    let name = format_ident!("{}", format!("{elem:?}"));
    quote!(Elem::#name)
}

fn state(state: &State) -> TokenStream {
    let State { name, bytes, shape, dtype } = state;
    let (bytes, shape, dtype) = (number(*bytes), numbers(shape), elem(*dtype));
    quote!(state!(#name, #bytes, #shape, #dtype))
}

fn port(port: &Port) -> TokenStream {
    let Port { name, numpy, elem: kind, shape } = port;
    let (kind, shape) = (elem(*kind), numbers(shape));
    quote!(port!(#name, #numpy, #kind, #shape))
}

/// The name of a bucket's static, with an optional suffix.
fn item(bucket: &Bucket, suffix: &str) -> Ident {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let clean: String = bucket.name.chars().map(letter).collect();
    format_ident!("BUCKET_{}{}", clean, suffix)
}

fn bucket(bucket: &Bucket) -> TokenStream {
    let Bucket { name, rows, arena_bytes, inputs, outputs, .. } = bucket;
    let (rows, arena) = (number(u64::from(*rows)), number(*arena_bytes));
    let (inputs, outputs) = (inputs.iter().map(port), outputs.iter().map(port));
    let blocks = item(bucket, "");
    quote! {
        Bucket {
            name: Borrowed(#name),
            rows: #rows,
            arena_bytes: #arena,
            inputs: Borrowed(&[#(#inputs),*]),
            outputs: Borrowed(&[#(#outputs),*]),
            blocks: Borrowed(#blocks),
        }
    }
}

/// A bucket's blocks, and the table and dispatches of each.
fn bucket_items(bucket: &Bucket, kernels: &[Kernel]) -> TokenStream {
    let mut items = TokenStream::new();
    let mut blocks = Vec::new();
    for (i, block) in bucket.blocks.iter().enumerate() {
        let Block { phase, table, dispatches } = block;
        let (rows_name, table_name) = (item(bucket, &format!("_{i}_ROWS")), item(bucket, &format!("_{i}_TABLE")));
        let rows = dispatches.iter().map(|d| dispatch(d, kernels));
        let table = table.iter().map(|row| {
            let args = row.iter().map(|a| arg(*a));
            quote!(columns!(#(#args),*))
        });
        let phase = match phase {
            Phase::Body => quote!(Phase::Body),
            Phase::Head => quote!(Phase::Head),
            Phase::Greedy => quote!(Phase::Greedy),
            Phase::Drawn => quote!(Phase::Drawn),
        };
        items.extend(quote! {
            static #table_name: &[List<Arg>] = &[#(#table),*];
            static #rows_name: &[Dispatch] = &[#(#rows),*];
        });
        blocks.push(quote!(Block { phase: #phase, table: Borrowed(#table_name), dispatches: Borrowed(#rows_name) }));
    }
    let name = item(bucket, "");
    quote! {
        static #name: &[Block] = &[#(#blocks),*];
        #items
    }
}

fn dispatch(dispatch: &Dispatch, kernels: &[Kernel]) -> TokenStream {
    let Dispatch { kernel, grid, args, barrier, note } = dispatch;
    let (kernel, grid) = (kernel_name(*kernel, kernels), numbers(grid));
    let args = args.iter().map(|a| arg(*a));
    let barrier = if *barrier { quote!(+) } else { quote!(-) };
    quote!(row!(#kernel, #grid, [#(#args),*], #barrier, #note))
}

fn kernel_name(kernel: u32, kernels: &[Kernel]) -> Ident {
    kernels.get(kernel as usize).map_or_else(|| format_ident!("NO_SUCH_KERNEL"), constant)
}

fn arg(arg: Arg) -> TokenStream {
    let of = |name: &str, n: u64| {
        let (name, n) = (format_ident!("{}", name), number(n));
        quote!(#name(#n))
    };
    match arg {
        Arg::Weight(i) => of("Weight", u64::from(i)),
        Arg::State(i) => {
            let i = number(u64::from(i));
            quote!(Arg::State(#i))
        }
        Arg::Arena(offset) => of("Arena", offset),
        Arg::Column(i) => of("Column", u64::from(i)),
        Arg::Input(i) => of("Input", u64::from(i)),
        Arg::Output(i) => of("Output", u64::from(i)),
        Arg::Step => quote!(Step),
        Arg::Tokens => quote!(Tokens),
        Arg::Logits => quote!(Logits),
        Arg::Ring => quote!(Ring),
        Arg::History => quote!(History),
    }
}
