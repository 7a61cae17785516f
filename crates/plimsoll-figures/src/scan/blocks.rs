//! Blocks of one tool in one text: where a later block repeats figures of the call before it, the block is a call of its own.
//!
//! People post a tool's output before a change and after it, and cut the banners off. What parts two blocks is a fence, or other text with a blank line or
//! a colon. The lines of the later block are held back, and a reader of their own reads them. The first figure that the call before has too shows that
//! they are another call. Where there is none, they are the rest of the call before: people also write between the lines of one output.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::super::figure::Figure;
use super::super::format::{Fit, Format, Out, Reader, Start};
use super::super::line::Line;
use super::Scanner;
use super::documents::begins_document;

/// Figures of a call that are remembered: a block that repeats a call repeats its first ones.
const REMEMBERED: usize = 1000;
/// The most bytes that are held back.
const HELD: usize = 64 << 10;

/// Lines between two lines of a tool.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Gap {
    blank: bool,
    text: bool,
    parts: bool,
}

impl Gap {
    pub(super) fn blank(&mut self) {
        self.blank = true;
    }

    /// Notes a line of no tool.
    pub(super) fn line(&mut self, line: &Line<'_>) {
        let is_left_out = matches!(line.text, "[...]" | "[…]" | "…" | "<snip>" | "[snip]");
        self.parts |= is_fence(line.text) || line.text.ends_with(':') || line.text.starts_with(['$', '<']);
        self.text |= !line.is_rule() && !is_left_out;
    }

    /// Whether what follows may be another call.
    fn parts(self) -> bool {
        self.parts || (self.text && self.blank)
    }
}

/// Whether a line begins or ends a block of code.
pub(super) fn is_fence(text: &str) -> bool {
    text.starts_with("```") || text.starts_with("~~~")
}

/// The figures that a call has, by their names and labels.
#[derive(Default)]
pub(super) struct Names {
    seen: HashSet<u64>,
    added: usize,
    hasher: RandomState,
}

impl Names {
    fn of(&self, figure: &Figure<'_>) -> u64 {
        self.hasher.hash_one((figure.metric, figure.labels))
    }

    pub(super) fn add(&mut self, figure: &Figure<'_>) {
        if self.added < REMEMBERED {
            self.added += 1;
            self.seen.insert(self.of(figure));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.added == 0
    }

    fn has(&self, figure: &Figure<'_>) -> bool {
        self.seen.contains(&self.of(figure))
    }
}

/// A block that is perhaps another call of the tool at work.
pub(super) struct Block {
    reader: Box<dyn Reader>,
    /// The lines so far, with their numbers, and how long they are together.
    held: Vec<(u64, String)>,
    bytes: usize,
    gap: Gap,
}

impl Block {
    fn hold(&mut self, line: &Line<'_>) {
        self.bytes += line.text.len() + size_of::<(u64, String)>();
        self.held.push((line.number, line.text.to_owned()));
    }
}

/// Relation of a line to a block.
enum Shown {
    /// The line repeats a figure of the call before.
    Another,
    Nothing,
    /// The block has ended.
    Ended,
}

impl Scanner<'_> {
    /// Holds a line back if it may begin another call, or belongs to a block that may be one. False if the scanner should read it now.
    pub(super) fn holds(&mut self, line: &Line<'_>) -> bool {
        let Some(mut block) = self.block.take().or_else(|| self.new_block(line)) else { return false };
        match self.show(&mut block, line) {
            Shown::Nothing => {
                block.hold(line);
                let is_full = block.bytes > HELD;
                self.block = Some(block);
                if is_full {
                    self.release();
                }
                true
            }
            Shown::Another => {
                block.hold(line);
                self.begin_next(&block);
                self.read_again(&block);
                true
            }
            Shown::Ended => {
                self.read_again(&block);
                self.holds(line)
            }
        }
    }

    /// Reads the block that is held back as the rest of the call before.
    pub(super) fn release(&mut self) {
        if let Some(block) = self.block.take() {
            self.read_again(&block);
        }
    }

    fn read_again(&mut self, block: &Block) {
        self.reads_again = true;
        for (number, text) in &block.held {
            self.text(&Line { number: *number, text });
        }
        self.reads_again = false;
    }

    /// Begins the next call of the tool at work with this block, unless its first line does.
    fn begin_next(&mut self, block: &Block) {
        let (Some(active), Some((number, text))) = (&self.active, block.held.first()) else { return };
        let (format, line) = (active.format, Line { number: *number, text });
        let is_head = self.starts(&line).is_some_and(|(_, start)| start == Start::Head);
        if is_head && !self.goes_on(format, &line) {
            return;
        }
        self.begin(format);
        self.show_above(*number);
    }

    /// A block that this line may be the first of: the tool's own, behind a gap that parts it.
    fn new_block(&mut self, line: &Line<'_>) -> Option<Block> {
        let active = self.active.as_ref().filter(|active| active.gap.parts() && !self.reads_again)?;
        let format = active.format;
        if line.is_blank() || self.starts(line).is_some_and(|(of, _)| of.name != format.name) {
            return None;
        }
        let reader = super::reader(format, self.options)?;
        let mut block = Block { reader, held: Vec::new(), bytes: 0, gap: Gap::default() };
        let (fit, _) = self.offer_to(&mut block, line);
        // The reader has read the line now, and reads it again as the first of the block.
        block.reader = super::reader(format, self.options)?;
        (fit == Fit::Mine).then_some(block)
    }

    /// Shows a line to the reader of a block.
    fn show(&mut self, block: &mut Block, line: &Line<'_>) -> Shown {
        if line.is_blank() {
            block.gap.blank();
            block.reader.blank();
            return Shown::Nothing;
        }
        let Some(active) = &self.active else { return Shown::Ended };
        let (name, is_first) = (active.format.name, block.held.is_empty());
        let starts = |(of, start): (&Format, Start)| of.name != name || start == Start::Head;
        let ends = block.gap.parts() || begins_document(line.text) || self.starts(line).is_some_and(starts);
        if !is_first && ends {
            return Shown::Ended;
        }
        match self.offer_to(block, line) {
            (Fit::Next, _) => Shown::Ended,
            (Fit::Mine, true) => Shown::Another,
            (Fit::Mine, false) => {
                block.gap = Gap::default();
                Shown::Nothing
            }
            (Fit::Foreign, _) => {
                block.gap.line(line);
                Shown::Nothing
            }
        }
    }

    /// Gives a line to the reader of a block: whether it is the tool's, and repeats a figure of the call before.
    fn offer_to(&self, block: &mut Block, line: &Line<'_>) -> (Fit, bool) {
        let Some(active) = &self.active else { return (Fit::Foreign, false) };
        let mut repeats = false;
        let mut sink = |figure: &Figure<'_>| repeats |= active.names.has(figure);
        let mut out = Out {
            format: active.format.name,
            run: active.run,
            line: line.number,
            given: 0,
            refused: None,
            silent: &mut Vec::new(),
            sink: &mut sink,
        };
        let fit = block.reader.line(line, &mut out);
        let is_mine = out.given > 0 || out.refused.is_some();
        (if is_mine { Fit::Mine } else { fit }, repeats)
    }
}
