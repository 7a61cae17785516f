//! Bringing the agent along: this very program, checked by its SHA-256 there, in a private folder that the agent removes when it runs.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::OnceLock;

use sha2::{Digest, Sha256};

use super::error::ErrorKind;
use crate::reexec::THIS_EXECUTABLE;

/// Prefix of the remote shell's lines for the controller. Other lines before the agent's first frame are of the user's own shell.
const SAYS: &str = "plimsoll-bring: ";
/// Largest greeting of a shell before the agent's first frame, in bytes.
const MOST_SAID: usize = 256 << 10;
/// Bytes of a piece of the program.
const PIECE: usize = 64 << 10;

/// The program that is brought along.
#[derive(Debug)]
pub struct Program {
    file: File,
    /// Its size and its hash, once computed.
    known: OnceLock<(u64, String)>,
}

impl Program {
    /// This very program.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn this() -> io::Result<Self> {
        Ok(Self { file: File::open(THIS_EXECUTABLE)?, known: OnceLock::new() })
    }

    /// Its size in bytes, and its SHA-256 in hexadecimal digits.
    fn facts(&self) -> &(u64, String) {
        self.known.get_or_init(|| {
            let mut hash = Sha256::new();
            let mut size = 0;
            // An unreadable file gets a wrong hash, and is refused there.
            let read = self.pieces(|piece| {
                size += piece.len() as u64;
                hash.update(piece);
                Ok(())
            });
            if let Err(error) = read {
                tracing::debug!("reading {THIS_EXECUTABLE}: {error}");
            }
            let digest = hash.finalize();
            let hex = digest.iter().fold(String::new(), |mut hex, byte| {
                // Writing to a string cannot fail.
                write!(hex, "{byte:02x}").ok();
                hex
            });
            (size, hex)
        })
    }

    fn pieces(&self, mut take: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        use std::os::unix::fs::FileExt;
        let mut piece = vec![0; PIECE];
        let mut at = 0;
        // Several hosts may read it at once, each from its own place.
        loop {
            match self.file.read_at(&mut piece, at)? {
                0 => return Ok(()),
                read => {
                    take(&piece[..read])?;
                    at += read as u64;
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn of_bytes(bytes: &[u8]) -> Self {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(bytes).expect("allowed");
        Self { file, known: OnceLock::new() }
    }
}

/// Command line for the user's shell on the machine. It prints `have` and becomes the installed program if that is the same; else it prints
/// `send`, receives the program, prints `ready`, and becomes it. Only digits in it vary.
pub(super) fn remote_command(program: &Program) -> String {
    let (size, hash) = program.facts();
    let script = [
        "umask 077; set -f; LC_ALL=C; export LC_ALL",
        &format!("say() {{ echo \"{SAYS}$*\"; }}"),
        "sum() { sha256sum 2>/dev/null | cut -d\" \" -f1; }",
        "fail() { say failed \"$@\"; exit 1; }",
        "p=$(command -v plimsoll 2>/dev/null)",
        &format!(
            "if [ -f \"$p\" ] && [ \"$(sum < \"$p\")\" = {hash} ]; then say have; exec \"$p\" agent; fi"
        ),
        "command -v sha256sum >/dev/null 2>&1 || fail there is no program sha256sum to check it with",
        "d=; for t in \"$TMPDIR\" /tmp /var/tmp \"$HOME\"; do if [ -d \"$t\" ] && d=$(mktemp -d \"$t/plimsoll-agent-XXXXXXXXXX\" 2>/dev/null); then break; fi; d=; done",
        "[ -n \"$d\" ] || fail no folder can be made for it in TMPDIR, /tmp, /var/tmp or the home folder",
        "trap \"rm -rf -- \\\"\\$d\\\"\" EXIT; trap \"exit 1\" HUP INT TERM PIPE",
        "f=\"$d/plimsoll\"; say send \"$(uname -m)\"",
        &format!("e=$(head -c {size} 2>&1 >\"$f\") || fail $e"),
        &format!("[ \"$(sum < \"$f\")\" = {hash} ] || fail the copy in \"$d\" differs from the original"),
        "chmod 700 \"$f\"; e=$(\"$f\" --version 2>&1) || fail it cannot be executed in \"$d\": $e",
        "say ready; PLIMSOLL_BROUGHT=\"$d\"; export PLIMSOLL_BROUGHT; exec \"$f\" agent",
    ];
    // One line in single quotes, without a quote inside: any shell passes it on unchanged.
    format!("exec /bin/sh -c '{}'", script.join("; "))
}

/// Reads the remote shell's lines, and sends the program if requested. Returns whether it was. `on` is called for every piece.
pub(super) fn bring(
    program: &Program,
    to: &mut impl Write,
    from: &mut impl Read,
    mut on: impl FnMut(),
) -> Result<bool, ErrorKind> {
    let mut said = 0;
    loop {
        let line = line(from, &mut said)?;
        on();
        let Some(word) = line.strip_prefix(SAYS) else { continue };
        match word.split_once(' ').unwrap_or((word, "")) {
            ("have", _) => return Ok(false),
            ("ready", _) => return Ok(true),
            ("send", machine) if machine != std::env::consts::ARCH => {
                return Err(ErrorKind::Architecture { theirs: machine.into() });
            }
            ("send", _) => {
                let sent = program.pieces(|piece| {
                    on();
                    to.write_all(piece)
                });
                if sent.and_then(|()| to.flush()).is_err() {
                    // The other side gives the reason.
                    tracing::debug!("the machine did not take the whole program");
                }
            }
            ("failed", why) => return Err(ErrorKind::Bring { why: why.into() }),
            _ => {}
        }
    }
}

/// The next line, read byte by byte: frames follow the last one.
fn line(from: &mut impl Read, said: &mut usize) -> Result<String, ErrorKind> {
    let mut line = Vec::new();
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) | Err(_) => return Err(ErrorKind::Silent),
            Ok(_) if byte[0] == b'\n' => return Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
            Ok(_) => line.push(byte[0]),
        }
        *said += 1;
        if *said > MOST_SAID {
            return Err(ErrorKind::NoFrames {
                said: String::from_utf8_lossy(&line[..line.len().min(60)]).into(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::process::{Command, Stdio};

    use super::*;

    /// A program in the place of a shell: it prints its folder, its argument and its input.
    const ECHO: &str =
        "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\necho \"agent: $1 in $PLIMSOLL_BROUGHT\"\ncat\n";

    fn run(
        shell: &str,
        program: &Program,
        temporary: &Path,
        path: &str,
    ) -> (Result<bool, ErrorKind>, String) {
        let mut child = Command::new(shell)
            .args(["-c", &remote_command(program)])
            .env("TMPDIR", temporary)
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut to, mut from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let brought = bring(program, &mut to, &mut from, || {});
        to.write_all(b"frames").ok();
        drop(to);
        let mut rest = String::new();
        from.read_to_string(&mut rest).unwrap();
        child.wait().unwrap();
        (brought, rest)
    }

    #[test]
    fn a_program_that_is_missing_is_brought_and_hears_only_what_follows() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::of_bytes(ECHO.as_bytes());
        let (brought, rest) = run("sh", &program, folder.path(), "/usr/bin:/bin");
        assert!(matches!(brought, Ok(true)), "{brought:?}");
        let expected = format!("agent: agent in {}/plimsoll-agent-", folder.path().display());
        assert!(rest.starts_with(&expected) && rest.ends_with("\nframes"), "{rest}");
        let made = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(made.metadata().unwrap().permissions().mode() & 0o777, 0o700, "for its user alone");
    }

    #[test]
    fn the_same_program_is_used_where_it_is_installed_and_another_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let installed = folder.path().join("plimsoll");
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let program = Program::of_bytes(ECHO.as_bytes());
        for (text, expected) in [(ECHO, false), ("#!/bin/sh\nexit 1\n", true)] {
            fs::write(&installed, text).unwrap();
            fs::set_permissions(&installed, fs::Permissions::from_mode(0o755)).unwrap();
            let (brought, rest) = run("bash", &program, folder.path(), &path);
            assert_eq!(brought.unwrap(), expected);
            assert!(rest.starts_with("agent: agent in "), "{rest}");
        }
    }

    #[test]
    fn what_does_not_run_there_is_reported_and_nothing_of_it_stays() {
        let folder = tempfile::tempdir().unwrap();
        let program = Program::of_bytes(b"#!/bin/sh\necho 'libc is too old' >&2\nexit 1\n");
        let (brought, rest) = run("sh", &program, folder.path(), "/usr/bin:/bin");
        let why = brought.unwrap_err().of("db").to_string();
        assert!(why.contains("it cannot be executed in") && why.contains("libc is too old"), "{why}");
        assert_eq!(rest, "");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_shell_says_before_is_passed_over_but_not_without_end() {
        let said = format!("Welcome!\n\n{SAYS}have\nframes");
        let mut from = said.as_bytes();
        let program = Program::of_bytes(b"x");
        assert!(matches!(bring(&program, &mut io::sink(), &mut from, || {}), Ok(false)));
        assert_eq!(from, b"frames");
        let mut endless = io::repeat(b'y');
        let result = bring(&program, &mut io::sink(), &mut endless, || {});
        assert!(matches!(result, Err(ErrorKind::NoFrames { .. })), "{result:?}");
        let other = format!("{SAYS}send vax\n");
        let result = bring(&program, &mut io::sink(), &mut other.as_bytes(), || {});
        assert!(matches!(result, Err(ErrorKind::Architecture { .. })), "{result:?}");
    }
}
