//! `plimsoll tag`.

use crate::args::TagArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state;

pub(crate) fn run(args: &TagArgs) -> Result<Exit, Failure> {
    let store = state::open(args.store.store.as_deref())?;
    let run = state::find(&store, &args.run)?.id;
    store.remove_tags(&run, &args.remove)?;
    store.add_tags(&run, &args.tags)?;
    if let Some(note) = &args.note {
        store.put_remark(&run, note)?;
    }
    Ok(Exit::Holds)
}
