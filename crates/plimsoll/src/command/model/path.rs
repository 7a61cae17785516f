//! TCP's rate over a path that loses packets, from one point.

use plimsoll_judge::models::loss::Formula;
use plimsoll_model::units::{Share, Span};
use serde::Serialize;

use crate::args::{ModelArgs, PlainFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

#[derive(Serialize)]
struct PathRate {
    schema: &'static str,
    rtt_s: f64,
    loss: f64,
    mss: u32,
    constant: f64,
    /// Mathis et al. 1997, in bit/s.
    mathis: f64,
    /// Padhye et al. 1998, which adds timeouts; in bit/s.
    padhye: f64,
}

pub(super) fn run(args: &ModelArgs, rtt: Span, loss: Share) -> Result<Exit, Failure> {
    let (rtt_s, loss) = (rtt.0.as_secs_f64(), loss.0);
    if rtt_s <= 0.0 || loss <= 0.0 || loss >= 1.0 {
        return Err(Failure::Usage("expected --rtt above 0, and --loss above 0 and below 1".into()));
    }
    let rate = |formula: Formula| formula.rate(rtt_s, loss, f64::from(args.mss));
    let answer = PathRate {
        schema: "plimsoll.model.path/1",
        rtt_s,
        loss,
        mss: args.mss,
        constant: args.constant,
        mathis: args.constant * rate(Formula::Mathis),
        padhye: rate(Formula::Padhye),
    };
    match args.format {
        PlainFormat::Json => output::json(&answer),
        PlainFormat::Text => output::text(|out| {
            let PathRate { mss, constant, mathis, padhye, .. } = &answer;
            writeln!(out, "{rtt} round trip, a loss at {} of the packets, {mss} bytes in each", Share(loss))?;
            writeln!(out, "  Mathis et al. 1997, C = {constant}:   {:.3} Mbit/s", mathis / 1e6)?;
            writeln!(out, "  Padhye et al. 1998, timeouts: {:.3} Mbit/s", padhye / 1e6)
        }),
    }?;
    Ok(Exit::Holds)
}
