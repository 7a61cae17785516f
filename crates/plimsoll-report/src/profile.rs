//! Where the CPUs' time went that was added, as sentences and as rows of figures.

use plimsoll_model::observation::{FrameKind, ProfileClock};
use plimsoll_model::report::{ComparedProfile, GrownFunction, ProfileReport, ProfileSide};

use crate::number::{figure, percent};
use crate::wording;

/// The heading of the section.
pub(crate) const HEADING: &str = "Where the CPU time went that was added";
/// The heading of one comparison among several.
pub(crate) fn heading(compared: &ComparedProfile) -> String {
    let [better, worse] = [&compared.better, &compared.worse].map(wording::cell_title);
    format!("{HEADING}: {}, {worse} (worse) against {better} (better)", compared.phase)
}

/// The nearest callers of a function that are named, in a sentence and in the table.
const CALLERS: (usize, usize) = (3, 1);
/// The change, as a share, from which on the control's change is reported.
const WORTH_TELLING: f64 = 0.05;

/// How much CPU time there was on each side, and where what was added is. `sides` are the two sides' titles.
pub(crate) fn sentences(profile: &ProfileReport, (before, after): (&str, &str)) -> Vec<String> {
    let ProfileReport { per, before: was, after: is, .. } = profile;
    let mut all = vec![wording::capitalised(&format!(
        "{after}, each {per} took {} µs of CPU time, {} of them in the kernel; {before}, {} µs, {} of them in the kernel.",
        figure(is.cpu_us),
        figure(is.kernel_us),
        figure(was.cpu_us),
        figure(was.kernel_us),
    ))];
    let moved =
        |[before, after]: &[ProfileSide; 2]| (after.cpu_us / before.cpu_us - 1.0).abs() >= WORTH_TELLING;
    if let Some([was, is]) = profile.control.as_ref().filter(|sides| moved(sides)) {
        all.push(format!(
            "On the control it went from {} to {} µs; the changes below go beyond that.",
            figure(was.cpu_us),
            figure(is.cpu_us)
        ));
    }
    match &profile.narrowest {
        Some(function) => all.push(format!(
            "{} % of what was added is in {} and what it calls, {}.",
            percent(function.share.min(1.0)),
            title(function),
            way(function)
        )),
        None if profile.grew => all.push(spread(profile)),
        None => all.push("Nothing was added beyond chance.".to_owned()),
    }
    all
}

/// A process with a smaller part of the added time is one among many.
const ENOUGH: f64 = 0.3;
/// Functions that a sentence names.
const NAMED: usize = 3;

/// Where the time is that no single function holds most of: the process with most of it, and its functions with most.
fn spread(profile: &ProfileReport) -> String {
    let mut of_processes: Vec<(&[String], f64, Vec<&str>)> = Vec::new();
    for function in &profile.functions {
        match of_processes.iter_mut().find(|(owner, ..)| *owner == function.owner) {
            Some((_, share, names)) => {
                *share += function.share;
                names.push(&function.function);
            }
            None => of_processes.push((&function.owner, function.share, vec![&function.function])),
        }
    }
    let most = of_processes.into_iter().max_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
    let Some((owner, share, names)) = most.filter(|(_, share, _)| *share >= ENOUGH) else {
        return "What was added is spread over many functions.".to_owned();
    };
    let more = if names.len() > NAMED { " and others" } else { "" };
    format!(
        "No function holds most of what was added. {} % of it is in {}: {}{more}.",
        percent(share.min(1.0)),
        owner.join("/"),
        names[..names.len().min(NAMED)].join(", ")
    )
}

/// Source of the figures.
pub(crate) fn made(profile: &ProfileReport) -> String {
    let clock = match profile.clock {
        ProfileClock::Cycles => "the CPUs' cycle counters",
        ProfileClock::CpuClock => "a timer, which does not see what runs with interrupts off",
    };
    let lost = profile.before.lost + profile.after.lost;
    let lost = if lost == 0 { String::new() } else { format!("; {lost} were lost") };
    format!(
        "Samples of the stacks of all CPUs, {} a second by {clock}: {} and {}{lost}.",
        profile.hertz, profile.before.samples, profile.after.samples
    )
}

/// The titles of the columns, with the two sides in the middle.
pub(crate) fn columns(before: &'static str, after: &'static str) -> [&'static str; 6] {
    ["function", "of", before, after, "of what was added", "called from"]
}

/// Entry of the table for a function itself, without its callees.
pub(crate) fn cells(function: &GrownFunction) -> [String; 6] {
    [
        match &function.was {
            Some(was) => format!("{} (was {was})", function.function),
            None => function.function.clone(),
        },
        of(function).to_owned(),
        format!("{} µs", figure(function.before_us)),
        format!("{} µs", figure(function.after_us)),
        format!("{} %", percent(function.share.min(1.0))),
        callers(function, CALLERS.1),
    ]
}

fn title(function: &GrownFunction) -> String {
    match function.kind {
        FrameKind::Kernel => format!("the kernel's {}", function.function),
        _ => function.function.clone(),
    }
}

fn of(function: &GrownFunction) -> &'static str {
    if function.kind == FrameKind::Kernel { "kernel" } else { "program" }
}

/// By whom it is called most.
fn way(function: &GrownFunction) -> String {
    format!("mostly called from {}", callers(function, CALLERS.0))
}

fn callers(function: &GrownFunction, most: usize) -> String {
    let nearest = &function.called_by[function.called_by.len().saturating_sub(most)..];
    let gap = if nearest.len() < function.called_by.len() { " > …" } else { "" };
    let nearest: String = nearest.iter().map(|name| format!(" > {name}")).collect();
    format!("{}{gap}{nearest}", function.owner.join("/"))
}
