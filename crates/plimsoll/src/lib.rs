//! The command line: arguments become an action, and each action is one module of `command`.
//!
//! This crate alone sees all the others. It hands observations to the judge and the explainer (`plimsoll-assess`), and their answers to
//! the report.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod amount;
pub mod args;
mod bounded;
mod captures;
mod command;
mod contest;
mod effects;
mod environment;
mod exit;
mod failure;
mod included;
mod judge;
pub mod keeping;
mod measure;
mod messages;
mod observe;
mod other_processes;
mod output;
mod own_fields;
mod page;
mod place;
mod profiler;
mod progress;
mod recording;
mod repository;
mod rig;
mod shipped;
mod state;
mod task_files;
mod team;
mod width;

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;

use clap::CommandFactory;
use clap_complete::CompleteEnv;
use plimsoll_report::escape::terminal;

use args::{Args, Command};
use exit::Exit;

/// Runs the program with the arguments of the process.
pub fn main() -> ExitCode {
    messages::listen();
    if let Some(code) = plimsoll_host::stage(std::env::args_os()) {
        return code;
    }
    let args: Vec<OsString> = std::env::args_os().collect();
    if args.get(1).is_some_and(|word| word == "agent") {
        return command::agent::run(&args[2..]);
    }
    if args.get(1).is_some_and(|word| word == "task") {
        return command::task::run(&args[2..]);
    }
    // Without a handler the kernel kills a process that writes beyond `ulimit -f`, before it can say why (setrlimit(2)).
    signal_hook::flag::register(nix::libc::SIGXFSZ, Arc::default()).ok();
    // A shell asks for completions, and nothing else happens.
    CompleteEnv::with_factory(Args::command).complete();
    let args = match args::parse(args.clone()) {
        Ok(args) => args,
        Err(error) => return refused(&error, &args),
    };
    messages::choose(args.color, args.level());
    let result = match args.command {
        Command::New(args) => command::new::run(&args),
        Command::Run(args) => command::run::run(&args),
        Command::List(args) => command::list::run(&args),
        Command::Describe(args) => command::describe::run(&args),
        Command::Check(args) => command::check::run(&args),
        Command::Show(args) => command::show::run(&args),
        Command::Explain(args) => command::explain::run(&args),
        Command::Export(args) => command::export::run(&args),
        Command::History(args) => command::history::run(&args),
        Command::Tag(args) => command::tag::run(&args),
        Command::Baseline(args) => command::baseline::run(&args),
        Command::Push(args) => command::copying::push(&args),
        Command::Pull(args) => command::copying::pull(&args),
        Command::Rm(args) => command::remove::rm(&args),
        Command::Prune(args) => command::remove::prune(&args),
        Command::Gate(args) => command::gate::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Ab(args) => command::ab::run(&args),
        Command::Bisect(args) => command::bisect::run(&args),
        Command::Judge(args) => command::judge::run(&args),
        Command::Model(args) => command::model::run(&args),
        Command::Trace(args) => command::trace::run(&args),
        Command::Import(args) => command::import::run(&args),
        Command::Inventory(args) => command::inventory::run(&args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Selftest(args) => command::selftest::run(&args),
        Command::Serve(args) => command::serve::run(&args),
        Command::Watch(args) => command::watch::run(&args),
        Command::Record(args) => command::record::run(&args),
        Command::Completions { shell } => command::manual::completions(shell),
        Command::Man => command::manual::man(),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print();
            Exit::from(&failure).into()
        }
    }
}

/// Prints the error in the arguments, or the requested help or version. Arguments with control characters are printed
/// escaped.
fn refused(error: &clap::Error, args: &[OsString]) -> ExitCode {
    let shown: Vec<OsString> =
        args.iter().map(|word| terminal(&word.to_string_lossy()).into_owned().into()).collect();
    match (shown == args, args::parse(shown)) {
        (false, Ok(_)) => messages::say(error),
        // A closed stream has no reader.
        (false, Err(error)) => error.print().unwrap_or_default(),
        (true, _) => error.print().unwrap_or_default(),
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}
