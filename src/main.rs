//! A model's executable: the generated module handed to the runtime's command line. `ONNXCAST_MODEL` names the model (build.rs).

include!(concat!(env!("OUT_DIR"), "/model.rs"));

fn main() -> std::process::ExitCode {
    model::run()
}
