//! The executable's command line. In: a model and the arguments. Out: answers on stdout, remarks on stderr, an exit code. Promise:
//! every failure is one line that says what to do, and none is a panic.

mod album;
mod answer;
pub mod args;
mod beyond;
mod chat;
mod commands;
mod draw;
mod eval_ppl;
pub mod generate;
mod info;
mod interrupt;
mod open;
mod out;
mod profile;
mod registers;
mod residency;
#[cfg(test)]
mod script;
mod source;
mod verify_rows;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches};

use crate::error::{Kind, Result};
use crate::model::Model;
use crate::text::Codec;
use answer::Setting;
use args::{Args, Command};
use commands::Call;
use out::{Out, remark};

/// Runs the command line of the process on a model.
pub fn run(model: &Model) -> ExitCode {
    let program = (model.program)();
    // Clap wants it for ever; this is once a process.
    let name: &'static str = program.name.to_string().leak();
    let command = Args::command().name(name).bin_name(name).about(model.card.title);
    let parsed = command.try_get_matches().and_then(|m| Args::from_arg_matches(&m));
    let result = match parsed {
        Ok(args) => execute(model, &program, &args),
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error.kind, Kind::Closed | Kind::Interrupted) {
                remark(&format!("{name}: {error}"));
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn execute(model: &Model, program: &crate::program::Program, args: &Args) -> Result<()> {
    let sampling = args.sampling(model.sampling.as_ref())?;
    let mut stdout = io::stdout().lock();
    let mut out = Out::new(&mut stdout);
    if args.list_devices {
        return commands::list_devices(&mut out);
    }
    let codec = model.text.as_ref().map(Codec::new).transpose()?;
    let (text, picture, codec) = (model.text.as_ref(), model.picture.as_ref(), codec.as_ref());
    let setting = Setting { program, text, codec, picture, sampling };
    let call = Call { model, setting, flags: &args.engine };
    match &args.command {
        Some(Command::Bench(options)) => call.bench(options, &mut out),
        Some(Command::Verify(options)) => call.verify(options, &mut out),
        Some(Command::EvalPpl(options)) => eval_ppl::eval(&call, options, &mut out),
        Some(Command::Info(options)) => call.info(options, &mut out),
        Some(Command::Profile(options)) => call.profile(options, &mut out),
        Some(Command::Residency(options)) => call.residency(options, &mut out),
        Some(Command::Run(options)) => call.run(options),
        None => {
            call.setting.decoder()?;
            interrupt::install()?;
            let terminal = io::stdin().is_terminal();
            let source = source::source(&args.prompt, &mut io::stdin().lock(), terminal)?;
            let lines = || Ok(Box::new(chat::Editor::new()?) as Box<dyn chat::Lines>);
            answer::answer(&call.setting, args, source, || call.answering(), lines, &mut out)
        }
    }
}
