//! nginx: <https://nginx.org/en/docs/dirindex.html>.

use std::path::PathBuf;

use plimsoll_model::experiment::NginxService;
use plimsoll_model::frame::Failure;

use super::{CONFIGURATION, FILE, Place, Recipe};
use crate::confine::Identity;

/// Descriptors of a worker beyond those of its connections: listening sockets, logs, its channel to the master.
const OTHER_DESCRIPTORS: u32 = 64;

pub(super) fn recipe(options: &NginxService, place: &Place<'_>) -> Result<Recipe, Failure> {
    let NginxService { workers, connections, backlog, requests_per_connection, .. } = *options;
    let root = place.root(options.root.as_deref(), options.document)?;
    // Workers of what takes itself for root would become another user.
    let user = if place.remains_root { "user root;\n" } else { "" };
    let reuseport = if options.reuseport { " reuseport" } else { "" };
    let accept_mutex = if options.accept_mutex { "on" } else { "off" };
    let keep_alive = match requests_per_connection {
        0 => "keepalive_timeout 0;".to_owned(),
        n => format!("keepalive_requests {n};"),
    };
    // A connection has a socket and a file.
    let descriptors = 2 * connections + OTHER_DESCRIPTORS;
    let (folder, listen) = (place.path(), place.listen);
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
        listen {listen} backlog={backlog}{reuseport};
        root {root};
    }}
}}
"
    );
    Ok(Recipe {
        programs: &["nginx"],
        package: "nginx-light",
        // The log that is compiled in lies where an ordinary user may not write.
        args: &["-e", "stderr", "-c", CONFIGURATION],
        file: FILE,
        configuration,
        identity: Identity::Nobody,
        writable: None,
        visible: options.root.as_ref().map(PathBuf::from),
    })
}
