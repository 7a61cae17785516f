//! Plotly's bundle, which draws the charts: 4.7 MB, or 1.9 MB packed into a page.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;

/// Where a page has the program from that draws its charts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bundle {
    /// It is in the page, packed: the page is one file that can be sent.
    #[default]
    Inside,
    /// It is in a file beside the page, of the name [`name`], which many pages share.
    Beside,
}

/// The name of the file with the bundle, with the bundle's version in it.
#[must_use]
pub fn name() -> String {
    format!("plotly-{}.min.js", version(&text()).unwrap_or("unknown"))
}

/// The bundle itself, as JavaScript.
#[must_use]
pub fn text() -> String {
    // The crate hands it out in an element, together with MathJax (2 MB), which nothing here needs: the first element is Plotly.
    const END: &str = "</script>";
    let mut scripts = plotly::Plot::offline_js_sources();
    if let Some(end) = scripts.find(END) {
        scripts.truncate(end);
    }
    if let Some(begin) = scripts.find('>') {
        scripts.drain(..=begin);
    }
    scripts
}

/// What stands behind `plotly.js v` in the comment at the bundle's beginning.
fn version(text: &str) -> Option<&str> {
    let (_, rest) = text.get(..500)?.split_once("plotly.js v")?;
    rest.split(|c: char| !(c.is_ascii_digit() || c == '.')).next()
}

/// The bundle as gzip in base64, which browsers unpack by themselves (`DecompressionStream`).
pub(super) fn packed() -> io::Result<String> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(text().as_bytes())?;
    Ok(STANDARD.encode(packer.finish()?))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn the_bundle_is_plotly_alone() {
        let text = text();
        assert!(!text.contains("</script"), "it must not end the element that it stands in");
        assert!((3_000_000..5_000_000).contains(&text.len()), "{} bytes", text.len());
        let name = name();
        let version = name.strip_prefix("plotly-").and_then(|name| name.strip_suffix(".min.js")).unwrap();
        assert_eq!(version.split('.').filter(|part| part.parse::<u32>().is_ok()).count(), 3, "{name}");
    }

    #[test]
    fn what_is_packed_is_the_bundle_in_less_than_half_the_room() {
        let packed = packed().unwrap();
        let mut unpacked = String::new();
        GzDecoder::new(&STANDARD.decode(&packed).unwrap()[..]).read_to_string(&mut unpacked).unwrap();
        assert_eq!(unpacked, text());
        assert!(packed.len() * 2 < unpacked.len(), "{} of {}", packed.len(), unpacked.len());
    }
}
