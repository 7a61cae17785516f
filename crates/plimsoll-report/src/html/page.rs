//! What every page has: its head, its style, its script.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// Nothing may be loaded from anywhere; what is in the page may run. Images are what Plotly makes in the page itself.
const POLICY: &str =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// Writes a page with this title and body. The bundle is written as it is, never copied into a second string.
///
/// # Errors
/// Those of the writer.
pub(super) fn write(out: &mut dyn Write, title: &str, body: &Markup) -> io::Result<()> {
    let head = html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">"))
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(POLICY);
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="generator" content="plimsoll";
            title { (title) }
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("<body>"))
        (body)
    };
    out.write_all(head.into_string().as_bytes())?;
    out.write_all(plotly_bundle().as_bytes())?;
    write!(out, "\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// A table that scrolls sideways by itself where the page is too narrow for it. `rows` are its head and its body.
pub(super) fn table(name: &str, class: &str, rows: &Markup) -> Markup {
    html! {
        div .scroll tabindex="0" role="region" aria-label=(name) {
            table class=[(!class.is_empty()).then_some(class)] { (rows) }
        }
    }
}

/// The head of a table: titles, and whether figures stand below.
pub(super) fn head(titles: &[(&str, bool)]) -> Markup {
    html! {
        thead { tr { @for (title, figures) in titles { th .num[*figures] scope="col" { (title) } } } }
    }
}

/// The script element with Plotly's bundle. The crate hands it out together with MathJax (2 MB), which nothing here needs: the
/// first of its elements is Plotly.
fn plotly_bundle() -> String {
    const END: &str = "</script>";
    let mut scripts = plotly::Plot::offline_js_sources();
    if let Some(end) = scripts.find(END) {
        scripts.truncate(end + END.len());
    }
    scripts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bundle_is_plotly_alone() {
        let bundle = plotly_bundle();
        assert!(bundle.starts_with("<script") && bundle.ends_with("</script>"));
        assert!(bundle.contains("plotly.js v"), "not Plotly");
        assert!((3_000_000..5_000_000).contains(&bundle.len()), "{} bytes", bundle.len());
    }
}
