//! The memory that operations read into and write from.

use std::io;

use plimsoll_model::experiment::StorageLoad;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::memory::Memory;
use crate::clock;

/// The least that is written before bytes come again: file systems compress pieces of up to 128 KiB, and would find them in one piece else.
const SPAN: usize = 256 << 10;
/// Block size at which a device compares contents with those that it has already.
const SECTOR: usize = 512;

/// Some windows of a block for each place. Reads use the first; writes take turns with those that are filled with random bytes once, since
/// filling each block again takes longer than writing it to the page cache.
#[derive(Debug)]
pub(super) struct Buffers {
    memory: Memory,
    block: usize,
    /// How many windows each place has.
    windows: usize,
    /// The first window that is written from.
    first_written: usize,
    /// The window that each place uses.
    used: Vec<usize>,
}

impl Buffers {
    pub(super) fn new(load: &StorageLoad) -> io::Result<Self> {
        let block = usize::try_from(load.block.0).unwrap_or(usize::MAX);
        let places = load.depth as usize;
        let first_written = usize::from(load.reads.0 > 0.0);
        let written = if load.writes() { SPAN.div_ceil(block.saturating_mul(places)) } else { 0 };
        let windows = first_written + written;
        let length = block.saturating_mul(windows).saturating_mul(places);
        let mut memory = Memory::new(length)?;
        if load.writes() {
            SmallRng::seed_from_u64(clock::now()).fill(memory.slice(0, length));
        }
        Ok(Self { memory, block, windows, first_written, used: vec![0; places] })
    }

    /// Takes the window for the next operation of a place.
    pub(super) fn turn(&mut self, place: usize, write: bool, random: &mut SmallRng) {
        let used = self.used[place];
        if !write {
            self.used[place] = 0;
            return;
        }
        self.used[place] = if used + 1 < self.windows { used + 1 } else { self.first_written };
        for sector in self.slice(place).chunks_mut(SECTOR) {
            if let Some(stamp) = sector.first_chunk_mut::<8>() {
                *stamp = random.random::<u64>().to_ne_bytes();
            }
        }
    }

    /// The window of a place.
    pub(super) fn slice(&mut self, place: usize) -> &mut [u8] {
        self.memory.slice(self.offset(place), self.block)
    }

    /// Where the window of a place begins.
    pub(super) fn address(&self, place: usize) -> *mut u8 {
        self.memory.as_ptr().wrapping_add(self.offset(place))
    }

    /// All windows of a place: where they begin, and how long they are.
    pub(super) fn of_place(&self, place: usize) -> (*mut u8, usize) {
        let length = self.windows * self.block;
        (self.memory.as_ptr().wrapping_add(place * length), length)
    }

    fn offset(&self, place: usize) -> usize {
        (place * self.windows + self.used[place]) * self.block
    }

    /// Leaks the memory: the kernel may still write to it.
    pub(super) fn lose(&mut self) {
        std::mem::forget(std::mem::replace(&mut self.memory, Memory::new(1).expect("a page of memory")));
    }
}
