//! Reads of the file of weeks.

use rusqlite::{OptionalExtension, params};

use super::chunk::{self, Point};
use super::{Notice, Series, Tier, Weeks};
use crate::StoreError;

impl Weeks {
    /// All series, by name.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn series(&self) -> Result<Vec<Series>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached("select name, unit from series order by name")?;
            let rows = query.query_map([], |row| Ok(Series { name: row.get(0)?, unit: row.get(1)? }))?;
            rows.collect::<Result<_, _>>()
        };
        read().map_err(|source| self.failed("list the series", source))
    }

    /// The points of a series from a moment up to another, in order of time; those that were not measured are left out. What is not summed up
    /// yet is summed up from finer points.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn points_of(&self, name: &str, tier: Tier, from: u64, to: u64) -> Result<Vec<Point>, StoreError> {
        let read = || {
            let id: Option<i64> = self
                .connection
                .prepare_cached("select id from series where name = ?1")?
                .query_row([name], |row| row.get(0))
                .optional()?;
            let Some(id) = id else { return Ok(Vec::new()) };
            let mut points = self.summed(id, tier, from, to)?;
            points.retain(|point| (from..to).contains(&point.at_unix_s));
            Ok(points)
        };
        read().map_err(|source| self.failed("read a series", source))
    }

    fn summed(&self, id: i64, tier: Tier, from: u64, to: u64) -> rusqlite::Result<Vec<Point>> {
        let first = from / tier.chunk() * tier.chunk();
        let mut points = self.stored(id, tier, first, to)?;
        let finer = match tier {
            Tier::Seconds => return Ok(points),
            Tier::Minutes => Tier::Seconds,
            Tier::Hours => Tier::Minutes,
        };
        // Rows of this tier end where the last was summed up.
        let until: Option<u64> = self
            .connection
            .prepare_cached("select until from rolled where tier = ?1")?
            .query_row([tier.number()], |row| row.get(0))
            .optional()?;
        let rest = until.unwrap_or(0).max(first);
        if rest < to {
            let length = tier.chunk();
            let fine = self.summed(id, finer, rest, to)?;
            let mut fine = fine.as_slice();
            while let Some(next) = fine.first() {
                let start = next.at_unix_s / length * length;
                let (these, others) =
                    fine.split_at(fine.partition_point(|point| point.at_unix_s < start + length));
                points.extend(chunk::summed(these, start, tier).into_iter().flatten());
                fine = others;
            }
        }
        Ok(points)
    }

    fn stored(&self, id: i64, tier: Tier, from: u64, to: u64) -> rusqlite::Result<Vec<Point>> {
        // Rows stand in order of time, and in them of series: each is looked up by itself.
        let mut query = self
            .connection
            .prepare_cached("select points from chunks where tier = ?1 and start = ?2 and series = ?3")?;
        let mut points = Vec::new();
        let bounds: (Option<u64>, Option<u64>) = self
            .connection
            .prepare_cached(super::BOUNDS)?
            .query_row(params![tier.number(), from, to], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(oldest), Some(newest)) = bounds else { return Ok(points) };
        let step = usize::try_from(tier.chunk()).unwrap_or(usize::MAX);
        for start in (oldest..=newest).step_by(step) {
            let mut rows = query.query(params![tier.number(), start, id])?;
            if let Some(row) = rows.next()? {
                points.extend(chunk::points(row.get_ref(0)?.as_blob()?, start, tier));
            }
        }
        Ok(points)
    }

    /// When the first and the last point of any series are, in seconds since 1970 (UTC); `None` if there is none.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn extent(&self) -> Result<Option<(u64, u64)>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached(super::BOUNDS)?;
            let mut extent: Option<(u64, u64)> = None;
            for tier in Tier::ALL {
                let found: (Option<u64>, Option<u64>) = query
                    .query_row(params![tier.number(), 0, i64::MAX], |row| Ok((row.get(0)?, row.get(1)?)))?;
                if let (Some(first), Some(last)) = found {
                    let last = last + tier.chunk();
                    extent = Some(extent.map_or((first, last), |it| (it.0.min(first), it.1.max(last))));
                }
            }
            Ok(extent)
        };
        read().map_err(|source| self.failed("read the machine's weeks", source))
    }

    /// The state of a series from the last look.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn state(&self, series: &str) -> Result<Option<serde_json::Value>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached("select state from states where series = ?1")?;
            let text: Option<String> = query.query_row([series], |row| row.get(0)).optional()?;
            Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
        };
        read().map_err(|source| self.failed("read the state of a series", source))
    }

    /// The notices, the newest first.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn notices(&self) -> Result<Vec<Notice>, StoreError> {
        let read = || {
            let mut query = self.connection.prepare_cached(
                "select series, since_unix_s, found_unix_s, notice from notices order by found_unix_s desc, id desc",
            )?;
            let rows = query.query_map([], |row| {
                let text: String = row.get(3)?;
                Ok(Notice {
                    series: row.get(0)?,
                    since_unix_s: row.get(1)?,
                    found_unix_s: row.get(2)?,
                    notice: serde_json::from_str(&text).unwrap_or(serde_json::Value::Null),
                })
            })?;
            rows.collect::<Result<_, _>>()
        };
        read().map_err(|source| self.failed("read the notices", source))
    }
}
