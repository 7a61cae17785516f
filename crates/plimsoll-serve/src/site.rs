//! Sources of pages: the file of runs, and pages that were made before.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use maud::Markup;
use plimsoll_model::observation::TrialRecord;
use plimsoll_model::plan::Plan;
use plimsoll_model::report::RunReport;
use plimsoll_store::weeks::Weeks;
use plimsoll_store::{RunEntry, Store, StoreError};

/// How much of pages is kept that were made before, in bytes.
const KEPT: usize = 64 << 20;

/// A run with all that is known of it.
pub type Loaded = (Plan, RunReport, Vec<TrialRecord>);

/// Where runs come from, and how they are judged.
pub trait Runs: Send + Sync + 'static {
    /// Opens the file of runs to read it.
    ///
    /// # Errors
    /// When it cannot be read.
    fn open(&self) -> Result<Store, StoreError>;

    /// The history of the machine's weeks; `None` if there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    fn weeks(&self) -> Result<Option<Weeks>, StoreError>;

    /// The entry of a run as it is now: one that a process carries out is under way.
    fn as_it_is(&self, store: &Store, entry: RunEntry) -> RunEntry;

    /// A run, judged from what is stored.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn load(&self, store: &Store, run: &str) -> Result<Loaded, String>;

    /// The page that a run wrote to a file when it ended; `None` if there is none.
    fn page_file(&self, store: &Store, run: &str) -> Option<String>;

    /// The page of a run that was imported, with this above it; `None` if the run was measured.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn imported(&self, store: &Store, entry: &RunEntry, above: &Markup) -> Result<Option<Markup>, String>;

    /// The page of two runs against each other, of which at least one was imported; `None` if both were measured.
    ///
    /// # Errors
    /// Why they cannot be compared, in a sentence.
    fn against(&self, store: &Store, runs: [&str; 2], above: &Markup) -> Result<Option<Markup>, String>;

    /// The page of the recording that is served, with this above it; `None` if none is.
    ///
    /// # Errors
    /// Why it cannot be read, in a sentence.
    fn recording(&self, above: &Markup) -> Result<Option<Markup>, String>;

    /// Differences between the machines of two runs, one sentence each.
    ///
    /// # Errors
    /// Why that cannot be read, in a sentence.
    fn differences(&self, store: &Store, a: &str, b: &str) -> Result<Vec<String>, String>;
}

/// Common state of all handlers.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) runs: Arc<dyn Runs>,
    made: Arc<Mutex<PageCache>>,
}

/// Pages that were made before, with what they were made from, the last used behind.
#[derive(Default)]
struct PageCache {
    pages: VecDeque<(String, Arc<str>)>,
    bytes: usize,
}

impl Site {
    pub(crate) fn new(runs: impl Runs) -> Self {
        Self { runs: Arc::new(runs), made: Arc::default() }
    }

    /// The page that was made from this before.
    pub(crate) fn made(&self, from: &str) -> Option<Arc<str>> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let at = made.pages.iter().position(|(key, _)| key == from)?;
        let found = made.pages.remove(at)?;
        let page = Arc::clone(&found.1);
        made.pages.push_back(found);
        Some(page)
    }

    /// Keeps a page, in place of those that were not asked for the longest.
    pub(crate) fn keep(&self, from: String, page: &Arc<str>) {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        made.bytes += page.len();
        made.pages.push_back((from, Arc::clone(page)));
        while made.bytes > KEPT
            && let Some((_, gone)) = made.pages.pop_front()
        {
            made.bytes -= gone.len();
        }
    }
}
