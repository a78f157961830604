//! The compiler's executable; see `onnxcast::cli`.

fn main() -> std::process::ExitCode {
    onnxcast::cli::main()
}
