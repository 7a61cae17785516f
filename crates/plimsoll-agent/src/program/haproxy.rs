//! HAProxy: <https://docs.haproxy.org/2.6/configuration.html>.

use std::fmt::Write;

use plimsoll_model::experiment::{HaproxyService, ProxyMode};
use plimsoll_model::frame::{CertificateFile, Failure};

use super::{About, CONFIGURATION, FILE, Program, Recipe, Site};
use crate::sandbox::Kind;

/// The facts about HAProxy.
const ABOUT: About = About {
    programs: &["haproxy"],
    package: "haproxy",
    args: &["-db", "-f", CONFIGURATION],
    file: FILE,
    version: (&["haproxy"], "-v"),
    kind: Kind::Server,
};

impl Program for HaproxyService {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn recipe(&self, place: &Site<'_>) -> Result<Recipe, Failure> {
        let HaproxyService { threads, connections, backlog, .. } = *self;
        let (mode, reuse) = match (self.mode, self.keep_alive) {
            (ProxyMode::Tcp, _) => ("tcp", ""),
            (ProxyMode::Http, true) => ("http", "    option http-keep-alive\n"),
            (ProxyMode::Http, false) => ("http", "    option http-server-close\n"),
        };
        let listen = place.listen;
        let tls = match self.tls {
            true => {
                let (pair, alpn) =
                    (CertificateFile::Pair.name(), if self.http2 { "h2,http/1.1" } else { "http/1.1" });
                format!(" ssl crt {}/{pair} ssl-min-ver TLSv1.3 alpn {alpn}", place.path())
            }
            false => String::new(),
        };
        // An ordinary user's limit of descriptors may be lower than what that many connections could need; haproxy then takes fewer.
        let mut configuration = format!(
            "global
    nbthread {threads}
    maxconn {connections}
    no strict-limits
defaults
    mode {mode}
{reuse}    maxconn {connections}
    backlog {backlog}
    timeout connect 10s
    timeout client 60s
    timeout server 60s
frontend in
    bind {listen}{tls}
    default_backend out
backend out
    balance roundrobin
"
        );
        for (number, address) in place.to.iter().enumerate() {
            writeln!(configuration, "    server s{number} {address}").expect("a string can be written to");
        }
        Ok(Recipe { configuration, writable: None, visible: None })
    }
}
