//! Common parts of every page: its head, its style, its script.

use std::io::{self, Write};

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::bundle::{self, Bundle};
use super::places;

pub(super) const STYLE: &str = include_str!("style.css");
pub(super) const SCRIPT: &str = include_str!("page.js");

/// Nothing may be loaded from anywhere; scripts in the page may run. Images are those that Plotly makes in the page itself.
fn policy(bundle: Bundle) -> String {
    let scripts = match bundle {
        Bundle::Inside => "'unsafe-inline'",
        // Where the page is opened as a file, browsers differ on its own origin.
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
            (common(&html! { (title) }))
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

/// A page of a server, which sends style and scripts once for all pages; `above` stands over the body. Only a page with charts has the
/// bundle that draws them.
pub(super) fn served(title: &Markup, above: &Markup, body: &Markup, charts: bool) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                (common(title))
                link rel="stylesheet" href=(places::STYLE);
                @if charts { script defer src=(places::bundle()) {} }
                script defer src=(places::CHARTS) {}
            }
            body {
                (above)
                (body)
            }
        }
    }
}

/// Content of a page that [`write`] made with the bundle beside it: its title and its body, as HTML. `None` if another version made it, whose style
/// or script was another.
pub(super) fn inside(page: &str) -> Option<(&str, &str)> {
    let (head, rest) = page.split_once("<body>")?;
    let made = format!("name=\"generator\" content=\"{}\"", generator());
    let (_, title) = head.split_once("<title>").filter(|_| head.contains(&made))?;
    let (title, _) = title.split_once("</title>")?;
    Some((title, &rest[..rest.rfind("<script src=\"")?]))
}

/// Version of the style and the script that make pages: a hash by FNV-1a.
fn generator() -> String {
    let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let of = [STYLE, SCRIPT].concat().bytes().fold(0xcbf2_9ce4_8422_2325, hash);
    format!("plimsoll {} {of:016x}", env!("CARGO_PKG_VERSION"))
}

fn common(title: &Markup) -> Markup {
    html! {
        meta name="viewport" content="width=device-width, initial-scale=1";
        meta name="color-scheme" content="light dark";
        meta name="generator" content=(generator());
        title { (title) }
    }
}

/// A table that is folded where the page is too narrow for it, or scrolls sideways by itself without scripts. `rows` are its head and its body.
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
