//! Questions of DNS: generators that have many under way on each socket, and know which one a reply answers by its id.
//!
//! The loop of [`super::engine`] has one request on a connection; here hundreds share a socket, as resolvers do it. So there is a loop of its own, on
//! the same pacing.

mod answer;
mod asker;
mod bank;
mod channel;
#[cfg(feature = "fuzzed")]
pub(super) mod fuzzed;
mod slots;
#[cfg(test)]
mod tests;

use plimsoll_model::experiment::DnsLoad;
use plimsoll_model::frame::{Failure, LoadSpec};
use plimsoll_model::observation::LoadResult;

use self::asker::Asker;
use self::bank::Bank;
use super::course::Course;
use super::{Control, DESCRIPTORS, Shared, run_generators};
use crate::{clock, descriptors};

/// Carries the load out.
///
/// # Errors
/// When it cannot start: no target, no socket, a name that cannot be asked for.
pub(super) fn run(spec: &LoadSpec, load: &DnsLoad, control: &Control<'_>) -> Result<LoadResult, Failure> {
    let course = Course::from(load);
    let generators = course.generators;
    descriptors::make_room(u64::from(generators) * (u64::from(load.connections) + DESCRIPTORS))?;
    let bank = Bank::new(load)?;
    let seed = course.seed.unwrap_or_else(clock::now);
    let shared = Shared::new(control);
    let askers = (0..generators).map(|nth| Asker::new(spec, load, &bank, &shared, (nth, seed)));
    let askers = askers.collect::<Result<Vec<_>, _>>()?;
    run_generators(askers, &course, control, &shared, seed)
}

impl From<&DnsLoad> for Course {
    fn from(load: &DnsLoad) -> Self {
        Self {
            generators: load.generators.max(1),
            concurrency: load.concurrency,
            connections: load.questions.filter(|_| load.open.is_some()),
            requests: load.questions.filter(|_| load.open.is_none()),
            duration: load.duration.map(|span| span.0),
            open: load.open.clone(),
            most_per_second: None,
            timeout: load.timeout.0,
            requests_per_connection: 0,
            pipeline: 1,
            seed: load.seed,
        }
    }
}
