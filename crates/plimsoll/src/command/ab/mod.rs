//! `plimsoll ab`: whether a change made a program slower, on a machine that others use.

mod culprit;
mod noise;
mod record;
mod sampler;
mod sides;
mod text;
mod trial;

use std::time::{Duration, Instant};

use plimsoll_judge::compare::CompareSettings;
use plimsoll_judge::input::JudgeError;
use plimsoll_judge::sequential::SequentialSettings;
use plimsoll_model::verdict::Verdict;

use crate::args::{AbArgs, AbFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::measure::MeasureError;
use crate::output::{self, LiveLine};
use crate::{amount, messages};

use noise::{Noise, Reach};
use sampler::Sampler;
use text::Report;
use trial::Trial;

pub(crate) fn run(args: &AbArgs) -> Result<Exit, Failure> {
    let mut runner = sampler::runner(args)?;
    let sides = sides::ready(args, &mut runner)?;
    if args.bisect {
        culprit::check(args, &sides)?;
    }
    let start = Instant::now();
    let budget = args.budget.0;
    let mut sampler = Sampler::new(args, &sides, runner)?;
    let mut noise = Noise::measure(&mut sampler, budget)?;
    let mut judged = noise.judged(args, &sampler)?;
    if args.bisect && judged.len() > 1 {
        return Err(Failure::Usage("--bisect follows one figure: name it with --figure or --metric".into()));
    }
    if let [only] = judged.as_slice() {
        let kept = sampler.narrow(*only);
        judged = vec![noise.narrow(&kept, *only)];
    }
    let left = budget.saturating_sub(start.elapsed());
    let reach = worst(&noise, &judged, args, left);
    if let Some(advice) = text::advice(&reach, args.detect.0) {
        messages::say(format_args!("warning: {advice}"));
    }
    let seed = args.seed.unwrap_or_else(rand::random);
    let mut trial =
        Trial::new(&sampler.series, judged, settings(args), seed).map_err(|error| unjudged(&error))?;
    let mut line = LiveLine::new(None);
    let ended = trial.carry_out(&mut sampler, left, &mut |trial| {
        let pairs = amount::counted(2 * trial.blocks, "pair");
        line.show(&format!("{pairs}, {} of {} decided", trial.decided(), trial.members()));
    });
    line.clear();
    let interrupted = match ended {
        Ok(()) => false,
        Err(MeasureError::Interrupted) if trial.blocks > 0 => true,
        Err(MeasureError::Interrupted) => return Ok(Exit::Interrupted),
        Err(error) => return Err(error.into()),
    };
    let answer = Report {
        sides: &sides,
        series: &sampler.series,
        lacking: &sampler.lacking,
        noise: &noise,
        judged: trial.verdicts(&sampler.series).map_err(|error| unjudged(&error))?,
        trial: &trial,
        reach,
        detect: args.detect.0,
        margin: args.margin.0,
        elapsed: start.elapsed(),
        budget,
        seed,
        interrupted,
    };
    match args.format {
        AbFormat::Text => output::text(|out| text::text(out, &answer)),
        AbFormat::Markdown => output::text(|out| text::as_markdown(out, &answer)),
        AbFormat::Json => output::document(|out| plimsoll_report::json::pretty(out, &text::json(&answer))),
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

fn settings(args: &AbArgs) -> SequentialSettings {
    let compare =
        CompareSettings { margin: args.margin.0, alpha: args.alpha.0, ..CompareSettings::default() };
    SequentialSettings { compare, most: None, ..SequentialSettings::default() }
}

/// What the budget can show of the noisiest series.
fn worst(noise: &Noise, judged: &[usize], args: &AbArgs, left: Duration) -> Reach {
    let reaches = judged.iter().map(|&series| noise.reach(series, judged.len(), args, left));
    let nothing = Reach { detectable: 0.0, needs: None, fewest: Duration::ZERO, left };
    reaches.fold(nothing, |worst, one| if one.needs >= worst.needs { one } else { worst })
}

fn unjudged(error: &JudgeError) -> Failure {
    match error {
        JudgeError::Setting { .. } => Failure::Usage(error.to_string()),
        _ => Failure::could_not(error.to_string()),
    }
}
