//! Observations and verdicts as text, JSON and HTML, through io::Write.
