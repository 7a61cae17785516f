//! Plotly's bundle, which draws the charts: of its kinds of charts those that pages have, 1.2 MB, or 0.6 MB packed into a page.
//!
//! `cargo xtask charts` makes the file from the packages of npm.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

/// The bundle, as gzip.
const PACKED: &[u8] = include_bytes!("../../assets/plotly-3.0.1.min.js.gz");

/// Where a page has the program from that draws its charts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bundle {
    /// The library is in the page, packed: the page is one file that can be sent.
    #[default]
    Inside,
    /// The library is in a file beside the page, of the name [`name`], which many pages share.
    Beside,
}

/// The name of the file with the bundle, with the bundle's version in it.
pub fn name() -> &'static str {
    "plotly-3.0.1-partial.min.js"
}

/// The bundle itself, as JavaScript.
pub fn text() -> String {
    let mut text = String::new();
    let unpacked: io::Result<usize> = GzDecoder::new(PACKED).read_to_string(&mut text);
    unpacked.expect("a test unpacks it");
    text
}

/// The bundle as gzip, for a server to send (`Content-Encoding: gzip`).
pub fn gzip() -> &'static [u8] {
    PACKED
}

/// The bundle as gzip in base64, which browsers unpack by themselves (`DecompressionStream`).
pub(super) fn packed() -> String {
    STANDARD.encode(PACKED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_is_of_the_version_in_its_name_and_can_stand_in_a_page() {
        let text = text();
        assert!(!text.contains("</script"), "it must not end the element that it stands in");
        let version = name().strip_prefix("plotly-").and_then(|name| name.split('-').next()).unwrap();
        assert!(text.starts_with(&format!("/* plotly.js v{version},")), "{}", &text[..100]);
    }

    #[test]
    fn a_page_of_one_file_has_room_for_more_than_its_bundle() {
        assert!(packed().len() < 700_000, "{} bytes, of 1.5 MB for all", packed().len());
    }

    #[test]
    fn every_kind_of_chart_that_pages_have_is_in_it() {
        let text = text();
        for kind in ["scatter", "bar", "heatmap", "histogram", "icicle"] {
            assert!(text.contains(&format!("name:\"{kind}\"")), "{kind}");
        }
    }
}
