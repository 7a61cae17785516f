//! `plimsoll completions` and `plimsoll man`: what a package installs beside the program, made from the command line's own description.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;
use clap_complete::env::Shells;
use clap_mangen::Man;

use crate::args::Args;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// The variable by which a shell asks the program itself what fits.
const ASKS: &str = "COMPLETE";
const NAME: &str = "plimsoll";

/// Prints what makes a shell ask the program for completions: so it knows of runs, too.
pub(crate) fn completions(shell: Shell) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let known = Shells::builtins();
    let written = known
        .completer(&shell.to_string())
        .ok_or_else(|| io::Error::other(format!("{shell} has no completions")))
        .and_then(|it| it.write_registration(ASKS, NAME, NAME, NAME, &mut script));
    written.map_err(|error| Failure::could_not(format!("the completions cannot be written: {error}")))?;
    output::document(|out| out.write_all(&script))?;
    Ok(Exit::Holds)
}

/// Prints one manual page with all commands, in the form that man(1) reads.
pub(crate) fn man() -> Result<Exit, Failure> {
    output::document(|out| page(out))?;
    Ok(Exit::Holds)
}

fn page(out: &mut dyn Write) -> io::Result<()> {
    let mut command = Args::command().term_width(0);
    command.build();
    let man = Man::new(command.clone());
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    for part in command.get_subcommands().filter(|part| !part.is_hide_set() && part.get_name() != "help") {
        writeln!(out, ".SH {}", part.get_name().to_uppercase())?;
        let of_part = Man::new(part.clone());
        let mut text = Vec::new();
        of_part.render_description_section(&mut text)?;
        of_part.render_synopsis_section(&mut text)?;
        of_part.render_options_section(&mut text)?;
        out.write_all(as_part(&String::from_utf8_lossy(&text)).as_bytes())?;
    }
    man.render_extra_section(out)?;
    man.render_version_section(out)
}

/// Sections of a page of its own, as parts of a section of another.
fn as_part(text: &str) -> String {
    text.lines()
        .map(|line| {
            line.strip_prefix(".SH ").map_or_else(|| format!("{line}\n"), |title| format!(".SS {title}\n"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_command_with_its_options() {
        let mut text = Vec::new();
        page(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        for command in Args::command().get_subcommands().filter(|command| !command.is_hide_set()) {
            let title = format!(".SH {}\n", command.get_name().to_uppercase());
            assert_eq!(text.matches(&title).count(), 1, "{title}");
        }
        assert!(text.contains("\\-\\-audit\\-probes"), "options of `run`");
        assert!(text.contains(".SS OPTIONS"), "as parts of the command's section");
    }
}
