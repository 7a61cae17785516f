//! Retention: how long values are kept, and which ones go when room runs out.

use std::time::Duration;

use rusqlite::{Connection, params};

use super::{DAY, HOUR, Tier, Weeks};
use crate::StoreError;

/// SQLite's page.
const PAGE: u64 = 4096;
/// The pages after which the log is merged into the file, so that it stays small.
pub(super) const LOG_PAGES: u64 = 256;
/// Room that the log and its index may take beside the file: a transaction may be larger than what brings the log into the file.
const LOG: u64 = 4 * LOG_PAGES * PAGE;
/// The file is full above this share of its pages: what is written in a minute must still fit.
const FULL: f64 = 0.97;

/// How long points are kept, and how large the file may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// How long seconds are kept.
    pub seconds: Duration,
    /// How long minutes are kept.
    pub minutes: Duration,
    /// How long hours are kept.
    pub hours: Duration,
    /// The most bytes that the file and its log take on disk.
    pub most_bytes: u64,
}

impl Keep {
    /// The smallest file that holds a useful part of a machine's weeks, in bytes.
    pub const LEAST_BYTES: u64 = 10_000_000;

    /// Seconds for a day, minutes for a month, and hours for this time.
    #[must_use]
    pub fn hours_for(hours: Duration) -> Self {
        Self { hours, ..Self::default() }
    }

    fn of(self, tier: Tier) -> u64 {
        match tier {
            Tier::Seconds => self.seconds,
            Tier::Minutes => self.minutes,
            Tier::Hours => self.hours,
        }
        .as_secs()
    }

    fn pages(self) -> u64 {
        self.most_bytes.saturating_sub(LOG) / PAGE
    }
}

impl Default for Keep {
    fn default() -> Self {
        Self {
            seconds: Duration::from_secs(DAY),
            minutes: Duration::from_secs(31 * DAY),
            hours: Duration::from_secs(400 * DAY),
            most_bytes: 100_000_000,
        }
    }
}

impl Weeks {
    /// Has SQLite keep to the bound. A file that is larger shrinks first.
    pub(super) fn bound(&mut self) -> Result<(), StoreError> {
        self.make_room()?;
        let shrink = || {
            if self.number("page_count")? > self.keep.pages() {
                self.connection.execute_batch("vacuum; pragma wal_checkpoint(truncate)")?;
            }
            // It answers with what it is now, which is more where the file is larger still.
            let most = format!("pragma max_page_count = {}", self.keep.pages());
            self.connection.query_row(&most, [], |_| Ok(()))
        };
        shrink().map_err(|source| self.failed("keep to the bound", source))
    }

    fn number(&self, name: &str) -> rusqlite::Result<u64> {
        self.connection.pragma_query_value(None, name, |row| row.get(0))
    }

    /// Makes room for a minute where there is none: the oldest hour of seconds goes first, then the oldest day of minutes, then of hours.
    pub(super) fn make_room(&self) -> Result<(), StoreError> {
        let make = || -> rusqlite::Result<()> {
            while self.number("page_count")? - self.number("freelist_count")?
                > (self.keep.pages() as f64 * FULL) as u64
            {
                if !self.drop_oldest()? {
                    break;
                }
            }
            Ok(())
        };
        make().map_err(|source| self.failed("make room", source))
    }

    /// Drops some of the finest that is more than a chunk; false where there is nothing to drop.
    fn drop_oldest(&self) -> rusqlite::Result<bool> {
        for (tier, stretch, left) in
            [(Tier::Seconds, HOUR, 2 * HOUR), (Tier::Minutes, DAY, 2 * DAY), (Tier::Hours, 7 * DAY, 0)]
        {
            let range: Option<(u64, u64)> = self
                .connection
                .prepare_cached(super::BOUNDS)?
                .query_row(params![tier.number(), 0, i64::MAX], |row| {
                    Ok(row.get::<_, Option<u64>>(0)?.zip(row.get(1)?))
                })?;
            if let Some((oldest, newest)) = range
                && newest.saturating_sub(oldest) >= left
            {
                self.connection
                    .prepare_cached("delete from chunks where tier = ?1 and start < ?2")?
                    .execute(params![tier.number(), oldest + stretch])?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Deletes data past its retention. Only data that was summed up goes.
    pub(super) fn forget(&self, connection: &Connection, now: u64) -> rusqlite::Result<()> {
        for tier in Tier::ALL {
            let ended = now.saturating_sub(self.keep.of(tier)).saturating_sub(tier.chunk());
            connection
                .prepare_cached("delete from chunks where tier = ?1 and start <= ?2")?
                .execute(params![tier.number(), ended])?;
        }
        Ok(())
    }
}
