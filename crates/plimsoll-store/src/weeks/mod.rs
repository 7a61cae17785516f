//! Values of a machine over weeks, in one SQLite file that thins out with age and never grows beyond a bound.
//!
//! Seconds are kept for a day, minutes for a month, hours for as long as is asked for; a minute and an hour keep the mean, the least and the
//! greatest of what was measured in them. A minute of seconds is written in one transaction, together with the hours and days that it ends,
//! so that a crash loses at most the minute that it happened in, and nothing is counted twice. The bound is SQLite's own
//! (<https://www.sqlite.org/pragma.html#pragma_max_page_count>): where room runs out, the oldest of the finest values go first.

mod chunk;
mod keep;
mod read;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, params};

use super::StoreError;
use super::error::failed;

pub use chunk::Point;
pub use keep::Keep;

/// Seconds of a minute, and minutes of an hour.
pub const SIXTY: usize = 60;
const MINUTE: u64 = 60;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// The format of the file, below SQLite's `user_version`. The number rises when older versions cannot read it.
const FORMAT: u32 = 1;
/// Marks the file among others of SQLite: "plim" (<https://www.sqlite.org/pragma.html#pragma_application_id>).
const APPLICATION: u32 = 0x706c_696d;

const TABLES: &str = include_str!("tables.sql");

/// The first and the last row of a tier in a stretch of time. Each is a look into the index, where both at once would read all between.
const BOUNDS: &str = "
select (select min(start) from chunks where tier = ?1 and start >= ?2 and start < ?3),
    (select max(start) from chunks where tier = ?1 and start >= ?2 and start < ?3)";

/// How fine points are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Each second.
    Seconds,
    /// Each minute.
    Minutes,
    /// Each hour.
    Hours,
}

impl Tier {
    const ALL: [Self; 3] = [Self::Seconds, Self::Minutes, Self::Hours];

    /// How long a point stands for, in seconds.
    pub fn step(self) -> u64 {
        match self {
            Self::Seconds => 1,
            Self::Minutes => MINUTE,
            Self::Hours => HOUR,
        }
    }

    /// How long a row of the file stands for, in seconds.
    fn chunk(self) -> u64 {
        match self {
            Self::Seconds => MINUTE,
            Self::Minutes => HOUR,
            Self::Hours => DAY,
        }
    }

    fn number(self) -> i64 {
        self as i64
    }
}

/// A series: what was measured, such as `memory.available`, and its unit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: String,
}

/// News of a series.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The name of the series.
    pub series: String,
    /// Since when it is so, in seconds since 1970 (UTC).
    pub since_unix_s: u64,
    /// When it was found.
    pub found_unix_s: u64,
    /// Its content, as JSON of its finder.
    pub notice: serde_json::Value,
}

/// The file of a machine's weeks.
#[derive(Debug)]
pub struct Weeks {
    path: PathBuf,
    connection: Connection,
    keep: Keep,
    ids: BTreeMap<String, i64>,
}

impl Weeks {
    /// Opens the file to write to it, and makes it and its folder where they are not there yet.
    ///
    /// # Errors
    /// When it cannot be made, is another kind of file, or was written by a newer version.
    pub fn open(path: &Path, keep: Keep) -> Result<Self, StoreError> {
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            fs::create_dir_all(folder)
                .map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
        }
        let doing = |source| failed(path, "open the machine's weeks", source);
        let connection = Connection::open(path).map_err(doing)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(doing)?;
        let empty: bool = connection
            .query_row("select not exists (select 1 from sqlite_master)", [], |row| row.get(0))
            .map_err(doing)?;
        if empty {
            connection.pragma_update(None, "application_id", APPLICATION).map_err(doing)?;
            connection.pragma_update(None, "user_version", FORMAT).map_err(doing)?;
        }
        check(path, &connection)?;
        let prepare = || {
            connection.pragma_update(None, "journal_mode", "wal")?;
            // After a crash of the machine the last minutes may be gone, and the file is whole.
            connection.pragma_update(None, "synchronous", "normal")?;
            connection.pragma_update(None, "wal_autocheckpoint", keep::LOG_PAGES)?;
            connection.pragma_update(None, "journal_size_limit", 0)?;
            connection.execute_batch(TABLES)
        };
        prepare().map_err(doing)?;
        let mut weeks = Self { path: path.to_owned(), connection, keep, ids: BTreeMap::new() };
        weeks.bound()?;
        Ok(weeks)
    }

    /// Opens a file that is there to read it.
    ///
    /// # Errors
    /// When it cannot be read, is another kind of file, or was written by a newer version.
    pub fn open_to_read(path: &Path) -> Result<Self, StoreError> {
        let opened = fs::File::open(path).map(drop);
        opened.map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        let doing = |source| failed(path, "open the machine's weeks", source);
        // Its log can only be read by who may write to the files beside it; others read what has come into the file itself.
        let how = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, how).map_err(doing)?;
        connection.busy_timeout(Duration::from_secs(10)).map_err(doing)?;
        check(path, &connection)?;
        Ok(Self { path: path.to_owned(), connection, keep: Keep::default(), ids: BTreeMap::new() })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Stores a minute: of each series a value for each second, NaN where nothing was measured. What that makes too old goes.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_minute(
        &mut self,
        start_unix_s: u64,
        minute: &[(Series, [f32; SIXTY])],
    ) -> Result<(), StoreError> {
        let start = start_unix_s / MINUTE * MINUTE;
        self.make_room()?;
        let mut rows = Vec::with_capacity(minute.len());
        for (series, values) in minute.iter().filter(|(_, values)| values.iter().any(|v| v.is_finite())) {
            rows.push((self.id(series)?, chunk::of_seconds(values)));
        }
        let store = || {
            let transaction = self.connection.unchecked_transaction()?;
            {
                let mut put =
                    transaction.prepare_cached("insert or replace into chunks values (0, ?1, ?2, ?3)")?;
                for (id, points) in &rows {
                    put.execute(params![start, id, points])?;
                }
            }
            self.roll(&transaction, start + MINUTE)?;
            self.forget(&transaction, start + MINUTE)?;
            transaction.commit()
        };
        store().map_err(|source| self.failed("store a minute", source))
    }

    /// The number of a series, which is made where it is new.
    fn id(&mut self, series: &Series) -> Result<i64, StoreError> {
        if let Some(id) = self.ids.get(&series.name) {
            return Ok(*id);
        }
        let make = || {
            self.connection.execute(
                "insert or ignore into series (name, unit) values (?1, ?2)",
                params![series.name, series.unit],
            )?;
            self.connection
                .query_row("select id from series where name = ?1", [&series.name], |row| row.get(0))
        };
        let id = make().map_err(|source| self.failed("store a series", source))?;
        self.ids.insert(series.name.clone(), id);
        Ok(id)
    }

    /// Sums up the hours and days that ended before a moment and were not summed up yet.
    fn roll(&self, connection: &Connection, now: u64) -> rusqlite::Result<()> {
        for (from, to) in [(Tier::Seconds, Tier::Minutes), (Tier::Minutes, Tier::Hours)] {
            let length = to.chunk();
            let ended = now / length * length;
            let until: Option<u64> = connection
                .prepare_cached("select until from rolled where tier = ?1")?
                .query_row([to.number()], |row| row.get(0))
                .optional()?;
            if until.is_some_and(|until| until >= ended) {
                continue;
            }
            let mut starts = connection.prepare_cached(
                "select distinct start / ?2 * ?2 from chunks where tier = ?1 and start >= ?3 and start < ?4",
            )?;
            let range = params![from.number(), length, until.unwrap_or(0), ended];
            let starts: Vec<u64> = starts.query_map(range, |row| row.get(0))?.collect::<Result<_, _>>()?;
            for start in starts {
                for (id, points) in self.points(connection, from, start, start + length)? {
                    let sums = chunk::summed(&points, start, to);
                    connection
                        .prepare_cached("insert or replace into chunks values (?1, ?2, ?3, ?4)")?
                        .execute(params![to.number(), start, id, chunk::of_points(&sums)])?;
                }
            }
            connection
                .prepare_cached("insert or replace into rolled values (?1, ?2)")?
                .execute(params![to.number(), ended])?;
        }
        Ok(())
    }

    /// The points of all series in a stretch, by the series' number.
    fn points(
        &self,
        connection: &Connection,
        tier: Tier,
        from: u64,
        to: u64,
    ) -> rusqlite::Result<BTreeMap<i64, Vec<Point>>> {
        let mut query = connection.prepare_cached(
            "select series, start, points from chunks where tier = ?1 and start >= ?2 and start < ?3 order by start",
        )?;
        let mut rows = query.query(params![tier.number(), from, to])?;
        let mut all: BTreeMap<i64, Vec<Point>> = BTreeMap::new();
        while let Some(row) = rows.next()? {
            let points = chunk::points(row.get_ref(2)?.as_blob()?, row.get(1)?, tier);
            all.entry(row.get(0)?).or_default().extend(points);
        }
        Ok(all)
    }

    /// Stores what was found in a series.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_notice(&self, notice: &Notice) -> Result<(), StoreError> {
        let Notice { series, since_unix_s, found_unix_s, notice } = notice;
        self.connection
            .execute(
                "insert into notices (series, since_unix_s, found_unix_s, notice) values (?1, ?2, ?3, ?4)",
                params![series, since_unix_s, found_unix_s, notice.to_string()],
            )
            .map(drop)
            .map_err(|source| self.failed("store the notices", source))
    }

    /// Stores what is remembered of a series from one look to the next.
    ///
    /// # Errors
    /// When the file cannot be written to.
    pub fn put_state(&self, series: &str, state: &serde_json::Value) -> Result<(), StoreError> {
        self.connection
            .execute("insert or replace into states values (?1, ?2)", params![series, state.to_string()])
            .map(drop)
            .map_err(|source| self.failed("store the state of a series", source))
    }

    fn failed(&self, operation: &'static str, source: rusqlite::Error) -> StoreError {
        failed(&self.path, operation, source)
    }
}

/// Sees to it that a file is one of these, and none of a newer version.
fn check(path: &Path, connection: &Connection) -> Result<(), StoreError> {
    let doing = |source| failed(path, "open the machine's weeks", source);
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, u32>(0));
    if number("application_id").map_err(doing)? != APPLICATION {
        return Err(StoreError::NoWeeks { path: path.to_owned() });
    }
    let found = number("user_version").map_err(doing)?;
    if found > FORMAT {
        return Err(StoreError::Newer { place: path.display().to_string(), found, known: FORMAT });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
