//! A server of PostgreSQL's for the tests of this process: it goes with the process, however that ends.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::NoTls;

use crate::{Location, Store};

/// An ordinary user where the tests are run by root, as which PostgreSQL does not start.
const NOBODY: u32 = 65534;
/// The shell ends the server, and removes its folder, when nobody holds the other end of its input any more.
const SERVE: &str = r#"
PATH="$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH"
initdb --pgdata="$1/data" --username=plimsoll --auth=trust --encoding=UTF8 --no-locale --no-sync >"$1/log" 2>&1
{ echo "host all locked all scram-sha-256"; cat "$1/data/pg_hba.conf"; } >"$1/hba.conf"
postgres -D "$1/data" -c hba_file="$1/hba.conf" -c listen_addresses=127.0.0.1 -p "$2" -c unix_socket_directories="$1" -c fsync=off -c max_connections=50 \
    -c ssl=on -c ssl_cert_file="$1/certificate.pem" -c ssl_key_file="$1/key.pem" >>"$1/log" 2>&1 </dev/null &
read -r nothing
kill -QUIT $!
wait
rm -rf "$1"
"#;

/// The test server.
pub(super) struct Cluster {
    /// Where it has its socket, and its certificate for `localhost`: `certificate.pem`. It asks the role `locked` for a password.
    pub(super) folder: PathBuf,
    pub(super) port: u16,
    _held: ChildStdin,
    _shell: Child,
}

pub(super) fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(start)
}

/// An address of a database that is empty.
pub(crate) fn url() -> String {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let Cluster { folder, port, .. } = cluster();
    let name = format!("runs{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut client = postgres::Client::connect(&url_of(folder, *port, "postgres"), NoTls).unwrap();
    client.batch_execute(&format!("create database {name}")).unwrap();
    url_of(folder, *port, &name)
}

pub(crate) fn place(url: &str) -> Location {
    Location::named(url.as_ref(), &std::env::temp_dir().join("none/runs.sqlite")).unwrap()
}

pub(crate) fn store() -> Store {
    Store::open_at(&place(&url())).unwrap()
}

fn url_of(folder: &Path, port: u16, database: &str) -> String {
    format!("postgres://plimsoll@/{database}?host={}&port={port}", folder.display())
}

fn start() -> Cluster {
    let folder = tempfile::tempdir().unwrap().keep();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = folder.join("key.pem");
    fs::write(folder.join("certificate.pem"), certified.cert.pem()).unwrap();
    fs::write(&key, certified.signing_key.serialize_pem()).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let mut command = Command::new("setpriv");
    if nix::unistd::geteuid().is_root() {
        chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
        chown(&key, Some(NOBODY), Some(NOBODY)).unwrap();
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    let mut shell = command
        .args(["sh", "-c", SERVE, "server"])
        .args([folder.as_os_str(), port.to_string().as_ref()])
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    while postgres::Client::connect(&url_of(&folder, port, "postgres"), NoTls).is_err() {
        assert!(
            begun.elapsed() < Duration::from_secs(120),
            "PostgreSQL does not start: {}",
            fs::read_to_string(folder.join("log")).unwrap_or_default()
        );
        thread::sleep(Duration::from_millis(50));
    }
    Cluster { folder, port, _held: shell.stdin.take().unwrap(), _shell: shell }
}
