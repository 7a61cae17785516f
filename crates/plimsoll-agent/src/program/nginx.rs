//! nginx: <https://nginx.org/en/docs/dirindex.html>.

use std::path::PathBuf;

use plimsoll_model::experiment::NginxService;
use plimsoll_model::frame::{CertificateFile, Failure};

use super::{About, CONFIGURATION, FILE, Program, Recipe, Site};
use crate::sandbox::Kind;

/// Descriptors of a worker beyond those of its connections: listening sockets, logs, its channel to the master.
const OTHER_DESCRIPTORS: u32 = 64;

/// The facts about nginx.
const ABOUT: About = About {
    programs: &["nginx"],
    package: "nginx-light",
    // The log that is compiled in lies where an ordinary user may not write.
    args: &["-e", "stderr", "-c", CONFIGURATION],
    file: FILE,
    version: (&["nginx"], "-v"),
    kind: Kind::Server,
};

impl Program for NginxService {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn recipe(&self, place: &Site<'_>) -> Result<Recipe, Failure> {
        let NginxService { workers, connections, backlog, requests_per_connection, .. } = *self;
        let root = place.root(self.root.as_deref(), self.document)?;
        // Workers of what takes itself for root would become another user.
        let user = if place.remains_root { "user root;\n" } else { "" };
        let reuseport = if self.reuseport { " reuseport" } else { "" };
        let accept_mutex = if self.accept_mutex { "on" } else { "off" };
        let keep_alive = match requests_per_connection {
            0 => "keepalive_timeout 0;".to_owned(),
            n => format!("keepalive_requests {n};"),
        };
        // A connection has a socket and a file.
        let descriptors = 2 * connections + OTHER_DESCRIPTORS;
        let (folder, listen) = (place.path(), place.listen);
        let ssl = if self.tls { " ssl" } else { "" };
        let http2 = if self.http2 { " http2" } else { "" };
        // Tickets are sealed with a key of this start, which all workers have; a cache would be no use beside them.
        let certificate = match self.tls {
            true => format!(
                "ssl_certificate {folder}/{};
        ssl_certificate_key {folder}/{};
        ssl_protocols TLSv1.3;
        ",
                CertificateFile::Certificate.name(),
                CertificateFile::Key.name()
            ),
            false => String::new(),
        };
        let configuration = format!(
            "daemon off;
{user}worker_processes {workers};
worker_rlimit_nofile {descriptors};
pid {folder}/pid;
error_log stderr error;
events {{
    worker_connections {connections};
    accept_mutex {accept_mutex};
}}
http {{
    access_log off;
    default_type text/html;
    sendfile on;
    {keep_alive}
    client_body_temp_path {folder}/client_body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {listen} backlog={backlog}{reuseport}{ssl}{http2};
        {certificate}root {root};
    }}
}}
"
        );
        Ok(Recipe { configuration, writable: None, visible: self.root.as_ref().map(PathBuf::from) })
    }

    fn more_args(&self, configuration: &str, place: &Site<'_>) -> Vec<String> {
        let says =
            |directive: &str| configuration.lines().any(|line| line.trim_start().starts_with(directive));
        let mut directives = String::new();
        if !says("daemon") {
            directives += "daemon off; ";
        }
        if !says("pid") {
            directives += &format!("pid {}/pid; ", place.path());
        }
        // Workers of what takes itself for root would become another user.
        if !says("user") && place.remains_root {
            directives += "user root; ";
        }
        if directives.is_empty() { Vec::new() } else { vec!["-g".to_owned(), directives] }
    }
}
