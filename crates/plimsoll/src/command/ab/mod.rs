//! `plimsoll ab`: whether a change made a program slower, on a machine that others use.

mod cpu_profile;
mod culprit;
mod identical;
mod noise;
mod page;
mod record;
mod sampler;
mod sides;
mod text;
mod trial;

use std::time::{Duration, Instant};

use plimsoll_judge::compare::CompareSettings;
use plimsoll_judge::input::JudgeError;
use plimsoll_judge::sequential::SequentialSettings;
use plimsoll_model::shell::shell_word;
use plimsoll_model::units::counted;
use plimsoll_model::verdict::{Outcome, Verdict};

use crate::args::{AbArgs, AbFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::{MeasureError, Runner};
use crate::messages;
use crate::output::{self, LiveLine};
use crate::page::Page;

use cpu_profile::ProfileWithLines;
use identical::Unread;
use noise::{Noise, Reach};
use sampler::Sampler;
use text::Report;
use trial::{Judged, Trial};

/// The change that must be found where nobody says another, as a share.
const GOAL: f64 = 0.05;

pub(crate) fn run(args: &AbArgs) -> Result<Exit, Failure> {
    let goal = goal(args)?;
    let mut runner = Runner::listening(args.ignore_failure)?;
    let sides = sides::ready(args, &mut runner)?;
    if args.bisect {
        culprit::check(args, &sides)?;
    }
    let open = |path| Page::at(path).map_err(|error| Failure::io("write", path, &error));
    let page = args.html.as_deref().map(open).transpose()?;
    let start = Instant::now();
    let unread = Unread::mark(&sides);
    let mut sampler = Sampler::new(args, &sides, runner)?;
    let is_one_commit = sides[0].commit.is_some() && sides[0].commit == sides[1].commit;
    let identical = is_one_commit || unread.is_some_and(|unread| unread.same_was_read());
    let budget = args.budget.0;
    let mut noise = Noise::measure(&mut sampler, if identical { Duration::ZERO } else { budget })?;
    let mut judged = noise.judged(args, &sampler)?;
    if args.bisect && judged.len() > 1 {
        return Err(Failure::Usage("--bisect follows one figure: name it with --figure or --metric".into()));
    }
    if let [only] = judged.as_slice() {
        let kept = sampler.narrow(*only);
        judged = vec![noise.narrow(&kept, *only)];
    }
    let left = budget.saturating_sub(start.elapsed());
    let reach = worst(&noise, &judged, args, goal, left);
    if let Some(warning) = text::warning(&reach, goal).filter(|_| !identical) {
        messages::say(format_args!("warning: {warning}"));
    }
    let seed = args.seed.unwrap_or_else(rand::random);
    let mut trial =
        Trial::new(&sampler.series, judged, settings(args), seed).map_err(|error| unjudged(&error))?;
    let ended = if identical { Ok(()) } else { carry_out(&mut trial, &mut sampler, left) };
    let interrupted = match ended {
        Ok(()) => false,
        Err(MeasureError::Interrupted) if trial.blocks > 0 => true,
        Err(MeasureError::Interrupted) => return Ok(Exit::Interrupted),
        Err(error) => return Err(error.into()),
    };
    let judged = trial.verdicts(&sampler.series).map_err(|error| unjudged(&error))?;
    let elapsed = start.elapsed();
    let why = why(&mut sampler, &judged, args, interrupted);
    let answer = Report {
        sides: &sides,
        series: &sampler.series,
        lacking: &sampler.lacking,
        noise: &noise,
        judged,
        why,
        trial: &trial,
        reach,
        margin: args.margin.0,
        elapsed,
        budget,
        seed,
        again: again(args, seed),
        interrupted,
    };
    if let Some((page, path)) = page.zip(args.html.as_deref()) {
        page.write(|out| page::write(out, &answer)).map_err(|error| Failure::io("write", path, &error))?;
    }
    match args.format {
        AbFormat::Text => output::text(|out| text::text(out, &answer)),
        AbFormat::Markdown => output::text(|out| text::as_markdown(out, &answer)),
        AbFormat::Json => output::json(&text::json(&answer)),
    }?;
    if interrupted {
        return Ok(Exit::Interrupted);
    }
    args.record.as_ref().map_or(Ok(()), |name| record::put(args, name, &answer))?;
    if args.bisect && answer.is_worse() {
        let metric = answer.judged.first().map(|one| answer.series[one.series].metric.as_str());
        culprit::search(args, metric.unwrap_or_default())?;
    }
    let verdicts: Vec<Verdict> = answer.judged.into_iter().map(|one| one.found.verdict).collect();
    Ok(Exit::of(&verdicts))
}

/// Measures, and shows how far it is.
fn carry_out(trial: &mut Trial, sampler: &mut Sampler<'_>, left: Duration) -> Result<(), MeasureError> {
    let mut line = LiveLine::new(None);
    let ended = trial.carry_out(sampler, left, &mut |trial| {
        let pairs = counted(2 * trial.blocks, "pair");
        line.show(&format!("{pairs}, {} of {} decided", trial.decided(), trial.members()));
    });
    line.clear();
    ended
}

/// The command line that measures the same again.
fn again(args: &AbArgs, seed: u64) -> String {
    let mut words: Vec<String> =
        std::iter::once("plimsoll".to_owned()).chain(std::env::args().skip(1)).collect();
    let before = words.iter().position(|word| word == "--").unwrap_or(words.len());
    if args.seed.is_none() {
        words.insert(before, format!("--seed={seed}"));
    }
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// CPU profile of the slower benchmark that changed most; `None` if none is slower.
fn why(
    sampler: &mut Sampler<'_>,
    judged: &[Judged],
    args: &AbArgs,
    interrupted: bool,
) -> Option<Result<ProfileWithLines, String>> {
    let change = |one: &&Judged| one.found.verdict.estimate.map_or(0.0, |ratio| ratio.ln().abs());
    let worse = judged.iter().filter(|one| one.found.verdict.outcome == Outcome::Slower);
    let worst = worse.max_by(|a, b| change(a).total_cmp(&change(b))).filter(|_| !interrupted && !args.no_why);
    let one = worst?;
    let metric = sampler.series[one.series].metric.clone();
    cpu_profile::look(sampler, &one.found.verdict, &metric, args.budget.0)
}

fn settings(args: &AbArgs) -> SequentialSettings {
    let (margin, alpha) = (args.margin.0, args.alpha.0);
    let compare = CompareSettings { margin, alpha, beyond_margin: true, ..CompareSettings::default() };
    SequentialSettings { compare, most: None, ..SequentialSettings::default() }
}

/// The change that must be found. A change within the margin counts as the same, however long it is measured.
fn goal(args: &AbArgs) -> Result<f64, Failure> {
    let margin = args.margin.0;
    let goal = args.detect.map_or(GOAL.max(2.0 * margin), |detect| detect.0);
    if goal > margin {
        return Ok(goal);
    }
    Err(Failure::Usage(
        "--detect must be larger than --margin: a change within the margin counts as the same".into(),
    ))
}

/// What the budget can show of the noisiest series.
fn worst(noise: &Noise, judged: &[usize], args: &AbArgs, goal: f64, left: Duration) -> Reach {
    let reaches = judged.iter().map(|&series| noise.reach(series, judged.len(), args, goal, left));
    let nothing = Reach { detectable: 0.0, needs: None, fewest: Duration::ZERO, left };
    reaches.fold(nothing, |worst, one| if one.needs >= worst.needs { one } else { worst })
}

fn unjudged(error: &JudgeError) -> Failure {
    match error {
        JudgeError::Setting { .. } => Failure::Usage(error.to_string()),
        _ => Failure::could_not(error.to_string()),
    }
}
