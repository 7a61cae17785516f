//! `plimsoll explain`: why a run came out as it did, or what sets the worse of two runs apart.

use serde_json::json;

use crate::args::{ExplainArgs, PlainFormat};
use crate::command::compare::runs::{self, Question};
use crate::command::show;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, state};

/// The version of the JSON document about one run.
const EXPLAIN_SCHEMA: &str = "plimsoll.explain/1";
/// As `compare` takes them unless told otherwise.
const MARGIN: f64 = 0.01;
const ALPHA: f64 = 0.01;

pub(crate) fn run(args: &ExplainArgs) -> Result<Exit, Failure> {
    let store = args.store.store.as_deref();
    if let [a, b] = args.runs.as_slice() {
        let question = Question { store, margin: MARGIN, alpha: ALPHA, format: args.format };
        // Whatever is found is an answer: nothing was claimed.
        return runs::run(&question, a, b).map(|_| Exit::Holds);
    }
    let (_, report, _) = show::load(&state::open_to_read(store)?, &args.runs[0])?;
    match args.format {
        PlainFormat::Text => {
            output::styled(|out, options| plimsoll_report::text::explanation(out, &report, options))
        }
        PlainFormat::Json => {
            let document = json!({
                "schema": EXPLAIN_SCHEMA,
                "run": report.run,
                "experiment": report.experiment,
                "verdicts": report.verdicts,
                "state_lives_in": report.state_lives_in,
                "causes": report.causes,
                "evidence": report.evidence,
                "profile": report.profile,
            });
            output::document(|out| plimsoll_report::json::pretty(out, &document))
        }
    }?;
    Ok(Exit::Holds)
}
