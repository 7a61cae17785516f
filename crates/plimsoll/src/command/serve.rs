//! `plimsoll serve`: the stored runs as web pages.

mod recorded;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use plimsoll_report::html::{NumbersPage, served};
use plimsoll_serve::{Guard, Loaded, Markup, Runs, Token};
use plimsoll_store::weeks::Weeks;
use plimsoll_store::{Location, RunEntry, Store, StoreError};

use super::compare::environments;
use super::compare::versus::{self, Question};
use super::import::{self, page};
use super::show;
use crate::args::{PlainFormat, ServeArgs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{bounded, messages, output, recording, state};

/// Defaults of `plimsoll compare`.
const MARGIN: f64 = 0.05;
const ALPHA: f64 = 0.05;

pub(crate) fn run(args: &ServeArgs) -> Result<Exit, Failure> {
    let place = state::place(args.store.store.as_deref())?;
    // A damaged store fails here, before the first request.
    drop(Store::open_at_to_read(&place)?);
    if let Some(other) = args.recording.iter().find(|path| !recording::is_one(path)) {
        return Err(Failure::Usage(format!("--recording {}: this is no recording", other.display())));
    }
    if args.recording.len() > 2 {
        return Err(Failure::Usage("--recording: expected one file, or two to compare".to_owned()));
    }
    let token = token(args)?;
    let cannot = |error| Failure::could_not(format!("cannot listen on {}: {error}", args.listen));
    let listener = TcpListener::bind(args.listen).map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    let shown = format!("http://{}/", reached(address, &args.name));
    let entrance = match &token {
        Some((_, text)) => format!("{shown}?token={text}"),
        None => shown,
    };
    output::text(|out| writeln!(out, "{entrance}"))?;
    messages::note(format_args!("serving the runs in {place} until Ctrl-C"));
    let guard = Guard { token: token.map(|(token, _)| token), names: args.name.clone() };
    let weeks = args.weeks.clone().unwrap_or_else(|| state::weeks_path(&place));
    let stored = Stored { runs: place, weeks, recordings: args.recording.clone() };
    plimsoll_serve::serve(listener, stored, guard)
        .map_err(|error| Failure::could_not(format!("cannot continue serving: {error}")))?;
    Ok(Exit::Holds)
}

/// The token of requests: the user's, or a random one if other machines can connect.
fn token(args: &ServeArgs) -> Result<Option<(Token, String)>, Failure> {
    let text = match &args.token_file {
        Some(path) => {
            let text =
                bounded::text(path, bounded::FILE).map_err(|error| Failure::io("read", path, &error))?;
            text.trim().to_owned()
        }
        None if args.listen.ip().is_loopback() => return Ok(None),
        None => format!("{:032x}", rand::random::<u128>()),
    };
    let token = Token::new(&text).ok_or_else(|| {
        let place = args.token_file.as_deref().unwrap_or(Path::new("")).display();
        Failure::Usage(format!("{place}: at least 16 letters, digits, - and _ were expected as token"))
    })?;
    Ok(Some((token, text)))
}

/// How a browser reaches an address: one that stands for all of this machine's is no address to go to.
fn reached(address: SocketAddr, names: &[String]) -> String {
    match names.first() {
        Some(name) => format!("{name}:{}", address.port()),
        None if address.ip().is_unspecified() => format!("localhost:{}", address.port()),
        None => address.to_string(),
    }
}

/// Largest page of a run that is read from its file, in bytes.
const LARGEST_PAGE: u64 = 1 << 30;

/// Runs from a store, and a machine's weeks and recordings from files.
struct Stored {
    runs: Location,
    weeks: PathBuf,
    recordings: Vec<PathBuf>,
}

impl Runs for Stored {
    fn open(&self) -> Result<Store, StoreError> {
        Store::open_at_to_read(&self.runs)
    }

    fn weeks(&self) -> Result<Option<Weeks>, StoreError> {
        self.weeks.exists().then(|| Weeks::open_to_read(&self.weeks)).transpose()
    }

    fn as_it_is(&self, store: &Store, entry: RunEntry) -> RunEntry {
        state::as_it_is(store, entry)
    }

    fn load(&self, store: &Store, run: &str) -> Result<Loaded, String> {
        show::load(store, run).map_err(|failure| failure.to_string())
    }

    fn page_file(&self, store: &Store, run: &str) -> Option<String> {
        // Another machine may have continued a run on a server after this one wrote its page.
        if matches!(store.place(), Location::Server { .. }) {
            return None;
        }
        let page = state::page_path(store, run);
        let reports = store.folder_beside(&[state::REPORTS]).ok()??;
        String::from_utf8(reports.read(page.file_name()?.as_ref(), LARGEST_PAGE).ok()?).ok()
    }

    fn imported(&self, store: &Store, entry: &RunEntry, above: &Markup) -> Result<Option<Markup>, String> {
        let import = import::stored::get(store, entry).map_err(|failure| failure.to_string())?;
        Ok(import.map(|import| page::with_page(&import, |page| served::judged(above, page))))
    }

    fn against(&self, store: &Store, runs: [&str; 2], above: &Markup) -> Result<Option<Markup>, String> {
        let question =
            Question { margin: MARGIN, alpha: ALPHA, of: &[], better: None, format: PlainFormat::Text };
        let page = || {
            if !versus::is_asked(store, runs)? {
                return Ok(None);
            }
            let judged = versus::judge(&question, store, runs)?;
            let [a, b] = runs;
            let verdict = judged.verdict();
            let numbers = judged.numbers().map(|numbers| (format!("{a}, {b}"), numbers));
            let medians = judged.medians().map(|(titles, beside)| page::medians_of(titles, beside));
            let note = ("note".to_owned(), versus::COST.to_owned());
            let facts: Vec<_> = judged.facts().into_iter().chain([note]).collect();
            let content = NumbersPage {
                title: &format!("{a} and {b}"),
                asked: &format!("B = {b} against A = {a}"),
                verdict: verdict.as_ref(),
                numbers: numbers.as_slice(),
                facts: &facts,
                tables: medians.as_slice(),
                again: &format!("plimsoll compare {a} {b}"),
            };
            Ok(Some(served::judged(above, &content)))
        };
        page().map_err(|failure: Failure| failure.to_string())
    }

    fn recording(&self, above: &Markup) -> Result<Option<Markup>, String> {
        let page = recorded::page(&self.recordings).map_err(|failure| failure.to_string())?;
        Ok(page.map(|page| served::recording(above, &page)))
    }

    fn differences(&self, store: &Store, a: &str, b: &str) -> Result<Vec<String>, String> {
        environments::differences(store, a, b).map_err(|failure| failure.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_one_that_a_browser_can_go_to() {
        let of = |text: &str, names: &[String]| reached(text.parse().unwrap(), names);
        assert_eq!(of("127.0.0.1:7546", &[]), "127.0.0.1:7546");
        assert_eq!(of("[::1]:7546", &[]), "[::1]:7546");
        assert_eq!(of("0.0.0.0:80", &[]), "localhost:80");
        assert_eq!(of("0.0.0.0:80", &["lab.example".into()]), "lab.example:80");
    }
}
