//! Target of the load: a running server, a program that serves, or a command that ends.

use std::net::{IpAddr, ToSocketAddrs, UdpSocket};

use super::compose;

/// Target of the load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// A server that runs already.
    Running { at: IpAddr, port: u16, tls: bool, path: String, remarks: Vec<String> },
    /// A program that Plimsoll starts, and that listens.
    Server { words: Vec<String>, port: Option<u16> },
    /// A command that ends.
    Command { words: Vec<String> },
}

impl Subject {
    /// Reads `--from`: an address, a service of a compose file, or a command line.
    pub(super) fn parse(from: &str, port: Option<u16>) -> Result<Self, String> {
        let from = from.trim();
        if let Some((scheme @ ("http" | "https"), rest)) = from.split_once("://") {
            return running(from, rest, scheme == "https");
        }
        if let Some((file, service)) = compose::named(from) {
            let compose::Published { at, port, remarks } = compose::service(file, service)?;
            return Ok(Self::Running { at, port, tls: false, path: "/".to_owned(), remarks });
        }
        let words = words(from)?;
        let takes_port = words.iter().any(|word| word.contains("{port}"));
        Ok(if takes_port || port.is_some() { Self::Server { words, port } } else { Self::Command { words } })
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self, Self::Running { .. })
    }

    /// Why one factor cannot carry both.
    pub(super) fn differs_too_much(&self, other: &Self) -> Option<String> {
        match (self, other) {
            (
                Self::Running { at, port, tls, path, .. },
                Self::Running { at: at_b, port: port_b, tls: tls_b, path: path_b, .. },
            ) => {
                if tls != tls_b {
                    return Some(
                        "one of the two addresses is https: both sides get the same load".to_owned(),
                    );
                }
                let moved = at != at_b || port != port_b;
                (moved && path != path_b).then(|| {
                    "the two addresses differ in server and path: one factor varies one of them".to_owned()
                })
            }
            (Self::Server { port, .. }, Self::Server { port: port_b, .. }) if port == port_b => None,
            (Self::Command { .. }, Self::Command { .. }) => None,
            _ => Some(
                "two running servers, two programs or two commands can be compared, but no mixture"
                    .to_owned(),
            ),
        }
    }
}

/// The words of a command line; one that needs a shell gets one.
pub(super) fn words(line: &str) -> Result<Vec<String>, String> {
    if line.contains(['|', '&', ';', '<', '>', '(', ')', '$', '`', '*', '?', '\n']) {
        return Ok(["sh", "-c", line].map(str::to_owned).into());
    }
    match shlex::split(line) {
        Some(words) if !words.is_empty() => Ok(words),
        Some(_) => Err("the command line is empty".to_owned()),
        None => Err(format!("`{line}`: a quotation mark is missing")),
    }
}

/// Whether an address belongs to this machine: only then can a socket be bound to it.
pub(super) fn is_here(at: IpAddr) -> bool {
    UdpSocket::bind((at, 0)).is_ok()
}

fn running(whole: &str, rest: &str, tls: bool) -> Result<Subject, String> {
    let (host, path) = rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash));
    if host.is_empty() || host.contains('@') {
        return Err(format!("`{whole}`: expected http://ADDRESS:PORT/PATH"));
    }
    let with_port =
        if host.rsplit(':').next().is_some_and(|port| port.parse::<u16>().is_ok()) && !host.ends_with(']') {
            host.to_owned()
        } else {
            format!("{host}:{}", if tls { 443 } else { 80 })
        };
    let found = with_port.to_socket_addrs().map_err(|error| format!("`{whole}`: {error}"))?;
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(std::net::SocketAddr::is_ipv6);
    let at = found.first().ok_or_else(|| format!("`{whole}`: this name has no address"))?;
    let here = if at.ip().is_unspecified() { IpAddr::from([127, 0, 0, 1]) } else { at.ip() };
    Ok(Subject::Running { at: here, port: at.port(), tls, path: path.to_owned(), remarks: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running_at(from: &str) -> (String, u16, String) {
        match Subject::parse(from, None) {
            Ok(Subject::Running { at, port, path, .. }) => (at.to_string(), port, path),
            other => panic!("{from}: {other:?}"),
        }
    }

    #[test]
    fn an_address_has_a_port_and_a_path() {
        assert_eq!(running_at("http://127.0.0.1:8080"), ("127.0.0.1".into(), 8080, "/".into()));
        assert_eq!(running_at("http://127.0.0.1/a/b?c=1"), ("127.0.0.1".into(), 80, "/a/b?c=1".into()));
        assert_eq!(running_at("http://[::1]:8080/"), ("::1".into(), 8080, "/".into()));
        assert_eq!(running_at("http://[::1]"), ("::1".into(), 80, "/".into()));
        assert_eq!(running_at("http://0.0.0.0:81"), ("127.0.0.1".into(), 81, "/".into()));
        assert_eq!(running_at("https://127.0.0.1/a"), ("127.0.0.1".into(), 443, "/a".into()));
        for wrong in ["http://", "http://me@host/", "https://", "http://127.0.0.1:99999/"] {
            assert!(Subject::parse(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_command_line_is_split_as_a_shell_does_and_needs_a_shell_for_pipes() {
        let command = |words: &[&str]| {
            Ok(Subject::Command { words: words.iter().map(|&word| word.to_owned()).collect() })
        };
        assert_eq!(Subject::parse("gzip -1 'a b'", None), command(&["gzip", "-1", "a b"]));
        assert_eq!(Subject::parse("sort x | uniq", None), command(&["sh", "-c", "sort x | uniq"]));
        assert!(Subject::parse("echo 'a", None).is_err());
        assert!(Subject::parse(" ", None).is_err());
    }

    #[test]
    fn a_command_line_with_a_port_is_a_server() {
        let server =
            |port| Ok(Subject::Server { words: ["./s".to_owned(), "{port}".to_owned()].into(), port });
        assert_eq!(Subject::parse("./s {port}", None), server(None));
        assert_eq!(Subject::parse("./s {port}", Some(80)), server(Some(80)));
        assert!(matches!(Subject::parse("./s", Some(80)), Ok(Subject::Server { port: Some(80), .. })));
    }
}
