//! A simulated year of a machine, second by second, through the code of `plimsoll watch --keep`: size of the file, findings with their times, number
//! of false alarms, and time to read the year.
//!
//!     cargo run --release --example year [SERIES [SEED]]
//!
//! One series has a step of 5 % after 20 weeks; another a slow leak after 30, which ends when memory runs out and its owner is started again. All have days,
//! weeks and noise whose neighbours are alike.

use std::error::Error;
use std::f64::consts::TAU;
use std::time::Instant;

use plimsoll::keeping::{Keeper, SeriesNews, summary};
use plimsoll_judge::stats::rng::SmallRng;
use plimsoll_model::weeks::News;
use plimsoll_store::weeks::{Keep, Series, Tier};

/// Monday, 4 January 2027, 00:00 UTC.
const START: u64 = 1_799_020_800;
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
const YEAR: u64 = 365 * DAY;
const STEP: u64 = 140 * DAY + 7 * HOUR;
const LEAK: u64 = 210 * DAY + 11 * HOUR;
/// Share of the memory that leaks in an hour: 12 MB of 16 GB.
const LEAKS: f64 = 0.000_75;
/// When a twentieth is left, the kernel ends the leaking program.
const OUT: u64 = LEAK + (0.95 / LEAKS) as u64 * HOUR;

/// Course of a figure: a level with days, weeks and noise of hours and of seconds.
struct Machine {
    series: Series,
    level: f64,
    /// Changes of a day and a weekend, and the noise of an hour, as shares of the level.
    day: f64,
    weekend: f64,
    noise: f64,
    hourly: f64,
}

impl Machine {
    fn new(n: usize) -> Self {
        let series = |name: String, unit: &str| Series { name, unit: unit.into() };
        match n {
            0 => Self::of(series("cpu.busy".into(), "share"), 0.4, 0.2, 0.7, 0.008),
            1 => Self::of(series("memory.available".into(), "bytes"), 1.6e10, 0.05, 1.05, 0.002),
            n => Self::of(series(format!("net.eth{n}.sent"), "bytes/s"), 1e7, 0.3, 0.6, 0.01),
        }
    }

    fn of(series: Series, level: f64, day: f64, weekend: f64, noise: f64) -> Self {
        Self { series, level, day, weekend, noise, hourly: 0.0 }
    }

    fn hour(&mut self, rng: &mut SmallRng) {
        self.hourly = 0.6 * self.hourly + self.noise * rng.normal();
    }

    fn value(&self, second: u64, rng: &mut SmallRng) -> f64 {
        let of_day = 1.0 + self.day * (TAU * (second % DAY) as f64 / DAY as f64).sin();
        let of_week = if second / DAY % 7 >= 5 { self.weekend } else { 1.0 };
        let changed = match self.series.name.as_str() {
            "cpu.busy" if second >= STEP => 1.05,
            "memory.available" if (LEAK..OUT).contains(&second) => {
                1.0 - LEAKS * (second - LEAK) as f64 / HOUR as f64
            }
            _ => 1.0,
        };
        // Seconds scatter by a tenth, evenly.
        let seconds = 1.0 + 0.2 * (rng.uniform() - 0.5);
        self.level * of_day * of_week * changed * (1.0 + self.hourly) * seconds
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = std::env::args().nth(1).map_or(Ok(12), |text| text.parse())?;
    let seed = std::env::args().nth(2).map_or(Ok(20), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("weeks.sqlite");
    let keep = Keep::default();
    let mut keeper = Keeper::open(&path, keep)?;
    let mut rng = SmallRng::new(seed);
    let mut machines: Vec<Machine> = (0..count).map(Machine::new).collect();
    let (began, mut most) = (Instant::now(), 0);
    let mut all: Vec<(u64, SeriesNews)> = Vec::new();
    for second in 0..YEAR {
        if second % HOUR == 0 {
            machines.iter_mut().for_each(|machine| machine.hour(&mut rng));
            let of = |end: &str| {
                std::fs::metadata(format!("{}{end}", path.display())).map_or(0, |about| about.len())
            };
            most = most.max(of("") + of("-wal") + of("-shm"));
        }
        let values: Vec<f64> = machines.iter().map(|machine| machine.value(second, &mut rng)).collect();
        let values = machines.iter().zip(values).map(|(machine, value)| (&machine.series, value));
        let found = keeper.take(START + second, values)?;
        all.extend(found.into_iter().map(|found| (second, found)));
    }
    keeper.end()?;
    println!("{YEAR} seconds of {count} series in {:.0} s", began.elapsed().as_secs_f64());
    println!("at most {most} bytes of {}", keep.most_bytes);
    let mut false_alarms = 0;
    for (second, SeriesNews { series, news, sentence }) in &all {
        let after = |moment: u64| (*second as f64 - moment as f64) / HOUR as f64;
        let since = news.since_unix_s();
        let (rises, ended) = match news {
            News::Change { before, after, .. } => (after > before, false),
            News::Drift(drift) => (drift.per_hour > 0.0, drift.per_hour == 0.0),
        };
        let is_true = match series.as_str() {
            "cpu.busy" => rises && since.abs_diff(START + STEP) < DAY,
            "memory.available" if since + DAY > START + OUT => since < START + OUT + DAY && (rises || ended),
            "memory.available" => !rises && !ended && since + DAY > START + LEAK,
            _ => false,
        };
        false_alarms += usize::from(!is_true);
        let delay = match (is_true, series.as_str()) {
            (true, "cpu.busy") => format!("{:.0} h after the step", after(STEP)),
            (true, _) if *second < OUT => format!("{:.0} h after the leak began", after(LEAK)),
            (true, _) => format!("{:.0} h after its end", after(OUT)),
            (false, _) => "FALSE".to_owned(),
        };
        println!("day {:.1}: {sentence} ({delay})", *second as f64 / DAY as f64);
    }
    println!("{false_alarms} false alarms in 12 months");
    let read = Instant::now();
    for machine in &machines {
        keeper.weeks().points_of(&machine.series.name, Tier::Hours, START, START + YEAR)?;
    }
    println!("the year of all series is read in {:.0} ms", read.elapsed().as_secs_f64() * 1e3);
    for line in summary(keeper.weeks())? {
        println!("{line}");
    }
    Ok(())
}
