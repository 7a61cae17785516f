//! The whole screen: a host that goes on, or a recording in which one goes back and forth.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use plimsoll_assess::watched::{Moment, State, Watched};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};

use super::draw::{self, Foot};
use super::{Live, NOTICED};
use crate::failure::Failure;
use crate::output::full_screen::FullScreen;

/// The number of states kept for bars: more than a terminal has columns.
const KEPT: usize = 600;
/// The seconds of a page.
const PAGE: usize = 60;

pub(super) fn live(live: &mut Live, count: Option<u64>, stop: &AtomicBool) -> Result<(), Failure> {
    let mut screen = taken()?;
    let mut states: Vec<State> = Vec::new();
    let mut left = count;
    while left != Some(0) && !stop.load(Ordering::Acquire) {
        if live.due <= Instant::now()
            && let Some(state) = live.look()?
        {
            if states.len() == KEPT {
                states.remove(0);
            }
            states.push(state);
            left = left.map(|left| left - 1);
        }
        let foot = Foot::Live { own_cost: live.target.own_cost() };
        screen.draw(|frame, colour| draw::draw(frame, live.target.name(), &states, &foot, colour));
        let wait = live.due.saturating_duration_since(Instant::now()).min(NOTICED);
        match key(wait) {
            Some(KeyCode::Char('q') | KeyCode::Esc) => return Ok(()),
            Some(KeyCode::Char('c')) => stop.store(true, Ordering::Release),
            _ => {}
        }
    }
    Ok(())
}

pub(super) fn replay(moments: &[Moment], stop: &AtomicBool) -> Result<(), Failure> {
    let mut tape = Tape { moments, watched: Watched::default(), read: 0, states: Vec::new() };
    if tape.at(0).is_none() {
        return Err(Failure::Usage(
            "the recording holds fewer than two moments: there is nothing to show".into(),
        ));
    }
    let mut screen = taken()?;
    let last = moments.len().saturating_sub(2);
    let (mut place, mut playing, mut due) = (0, true, Instant::now());
    while !stop.load(Ordering::Acquire) {
        place = tape.at(place).unwrap_or(0);
        let foot = Foot::Replay { place, last: last.max(place), playing };
        let shown = &tape.states[(place + 1).saturating_sub(KEPT)..=place];
        screen.draw(|frame, colour| draw::draw(frame, "recording", shown, &foot, colour));
        if playing && due <= Instant::now() {
            (place, playing) = (last.min(place + 1), place < last);
            due = Instant::now() + Duration::from_secs(1);
        }
        let Some(key) = key(NOTICED) else { continue };
        place = match key {
            KeyCode::Char('q') | KeyCode::Esc => return Ok(()),
            KeyCode::Char('c') => {
                stop.store(true, Ordering::Release);
                place
            }
            KeyCode::Left => place.saturating_sub(1),
            KeyCode::Right => (place + 1).min(last),
            KeyCode::PageUp => place.saturating_sub(PAGE),
            KeyCode::PageDown => (place + PAGE).min(last),
            KeyCode::Home => 0,
            KeyCode::End => last,
            _ => place,
        };
        playing = (key == KeyCode::Char(' ')) && !playing;
    }
    Ok(())
}

fn taken() -> Result<FullScreen, Failure> {
    FullScreen::take_stdout().map_err(|error| {
        Failure::could_not(format!("cannot draw on the terminal: {error}; --no-live prints lines"))
    })
}

/// The key that was pressed meanwhile; `c` alone stands for Ctrl-C.
fn key(wait: Duration) -> Option<KeyCode> {
    if !event::poll(wait).unwrap_or(false) {
        return None;
    }
    let Ok(Event::Key(key)) = event::read() else { return None };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    (key.kind != KeyEventKind::Release && (key.code != KeyCode::Char('c') || control)).then_some(key.code)
}

/// A recording, of which as much is worked out as was asked for.
struct Tape<'m> {
    moments: &'m [Moment],
    watched: Watched,
    read: usize,
    states: Vec<State>,
}

impl Tape<'_> {
    /// Makes this place known, or the last one that there is.
    fn at(&mut self, place: usize) -> Option<usize> {
        while self.states.len() <= place {
            let Some(moment) = self.moments.get(self.read) else { break };
            self.states.extend(self.watched.take(moment));
            self.read += 1;
        }
        self.states.len().checked_sub(1).map(|last| place.min(last))
    }
}
