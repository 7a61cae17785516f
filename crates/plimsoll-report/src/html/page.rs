//! What every page has: its head, its style, its script.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::bundle::{self, Bundle};
use super::places;

pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Nothing may be loaded from anywhere; what is in the page may run. Images are what Plotly makes in the page itself.
fn policy(bundle: Bundle) -> String {
    let scripts = match bundle {
        Bundle::Inside => "'unsafe-inline'",
        // Where the page is opened as a file, browsers differ on what its own origin is.
        Bundle::Beside => "'unsafe-inline' 'self' file:",
    };
    format!("default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:")
}

/// Writes a page with this title and body.
///
/// # Errors
/// Those of the writer.
pub(super) fn write(out: &mut dyn Write, title: &str, body: &Markup, bundle: Bundle) -> io::Result<()> {
    let head = html! {
        (DOCTYPE)
        (PreEscaped("<html lang=\"en\">"))
        head {
            meta charset="utf-8";
            meta http-equiv="Content-Security-Policy" content=(policy(bundle));
            (common(title))
            style { (PreEscaped(STYLE)) }
        }
        (PreEscaped("<body>"))
        (body)
    };
    out.write_all(head.into_string().as_bytes())?;
    match bundle {
        Bundle::Inside => {
            // An element of this type is no script to a browser; the page's own script unpacks it.
            out.write_all(b"<script type=\"application/gzip\" id=\"bundle\">")?;
            out.write_all(bundle::packed().as_bytes())?;
            out.write_all(b"</script>")?;
        }
        Bundle::Beside => write!(out, "<script src=\"{}\"></script>", bundle::name())?,
    }
    write!(out, "\n<script>{SCRIPT}</script>\n</body>\n</html>\n")
}

/// A page of a server, which sends style and scripts once for all pages; `above` stands over the body. Only a page with charts has what
/// draws them.
pub(super) fn served(title: &str, above: &Markup, body: &Markup, charts: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                (common(title))
                link rel="stylesheet" href=(places::STYLE);
                @if charts {
                    script defer src=(places::bundle()) {}
                    script defer src=(places::CHARTS) {}
                }
            }
            body {
                (above)
                (body)
            }
        }
    }
}

fn common(title: &str) -> Markup {
    html! {
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        meta name="generator" content="plimsoll";
        title { (title) }
    }
}

/// A table that scrolls sideways by itself where the page is too narrow for it. `rows` are its head and its body.
pub(super) fn table(name: &str, class: &str, rows: &Markup) -> Markup {
    html! {
        // The section around it may have the same name.
        div .scroll tabindex="0" role="region" aria-label={ (name) ", table" } {
            table class=[(!class.is_empty()).then_some(class)] { (rows) }
        }
    }
}

/// The head of a table: titles, and whether figures stand below.
pub(super) fn head(titles: &[(&str, bool)]) -> Markup {
    html! {
        thead { tr {
            // A column of pictures has no title, and is no heading.
            @for (title, figures) in titles {
                @if title.is_empty() { td {} } @else { th .num[*figures] scope="col" { (title) } }
            }
        } }
    }
}
