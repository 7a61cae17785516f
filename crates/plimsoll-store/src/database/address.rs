//! Where a server is, who asks it, and how: a URL as PostgreSQL's own programs take it
//! (<https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS>). What it does not say comes from their variables of the environment.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::unistd::{Uid, User, geteuid};
use percent_encoding::percent_decode_str;
use plimsoll_model::user::outside;
use postgres::config::{Host, SslMode};
use postgres::{Client, Config, NoTls};

use super::passwords::{self, PasswordOwner};
use super::server_error::{ServerError, refused};
use super::tls;

/// Start of such a URL.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// Where Debian's server has its socket.
const SOCKETS: &str = "/var/run/postgresql";
const PORT: u16 = 5432;
/// A server that does not answer for this time is away.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
const SILENT_FOR: Duration = Duration::from_secs(15);
const GONE_AFTER: Duration = Duration::from_secs(20);

/// Whether the words of a session are encrypted on their way.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Encryption {
    Never,
    /// Where the server can.
    Preferred,
    /// With any server that answers.
    Required,
    /// With a server that one of the authorities in this file has signed for its name.
    Verified(PathBuf),
}

/// A database on a server. What is shown of it has no password.
#[derive(Clone)]
pub struct Address {
    config: Config,
    encryption: Encryption,
    shown: String,
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.shown)
    }
}

/// Whether this is meant as the URL of a server.
pub(crate) fn is_server(name: &str) -> bool {
    SCHEMES.iter().any(|scheme| name.starts_with(scheme))
}

impl Address {
    /// Reads a URL. Errors leave the URL out, as it may contain a password.
    pub(crate) fn read(url: &str) -> Result<Self, String> {
        let environment = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let (bare, asked) = own_words(url)?;
        // The client names what it does not understand, which may be a password in a wrong place.
        let mut config: Config = bare.parse().map_err(|_| {
            "it was expected to be postgres://USER@HOST:PORT/DATABASE, with known options behind `?`"
                .to_owned()
        })?;
        if config.get_hosts().is_empty() {
            config.host(&environment("PGHOST").unwrap_or_else(|| SOCKETS.to_owned()));
        }
        if config.get_ports().is_empty()
            && let Some(port) = environment("PGPORT")
        {
            config.port(port.parse().map_err(|_| "PGPORT is no port".to_owned())?);
        }
        if config.get_user().is_none() {
            let user = environment("PGUSER").or_else(name_of_user);
            config.user(&user.ok_or("it names no user, and this one has no name")?);
        }
        let user = config.get_user().unwrap_or_default().to_owned();
        if config.get_dbname().is_none_or(str::is_empty) {
            config.dbname(&environment("PGDATABASE").unwrap_or_else(|| user.clone()));
        }
        let database = config.get_dbname().unwrap_or_default().to_owned();
        let (host, is_local) = match config.get_hosts().first() {
            Some(Host::Tcp(name)) => (name.clone(), false),
            Some(Host::Unix(path)) => (path.display().to_string(), true),
            None => return Err("it names no host".into()),
        };
        let port = config.get_ports().first().copied().unwrap_or(PORT);
        if config.get_password().is_none() {
            let known_as = if host == SOCKETS { "localhost" } else { &host };
            let wanted = PasswordOwner { host: known_as, port, database: &database, user: &user };
            if let Some(password) = environment("PGPASSWORD").or_else(|| passwords::of_user(&wanted)) {
                config.password(password);
            }
        }
        if config.get_application_name().is_none() {
            config.application_name("plimsoll");
        }
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(ANSWERS_WITHIN);
        }
        config.keepalives_idle(SILENT_FOR).keepalives_interval(Duration::from_secs(5)).keepalives_retries(3);
        config.tcp_user_timeout(GONE_AFTER);
        let mode = asked.mode.or_else(|| environment("PGSSLMODE"));
        let roots = asked.roots.or_else(|| environment("PGSSLROOTCERT")).map(PathBuf::from);
        // Traffic through a socket of the machine's own never leaves it.
        let encryption = if is_local { Encryption::Never } else { encryption(mode.as_deref(), roots)? };
        config.ssl_mode(match encryption {
            Encryption::Never => SslMode::Disable,
            Encryption::Preferred => SslMode::Prefer,
            Encryption::Required | Encryption::Verified(_) => SslMode::Require,
        });
        let shown = match (is_local, port) {
            (true, PORT) => format!("postgres://{user}@/{database}?host={host}"),
            (true, port) => format!("postgres://{user}@/{database}?host={host}&port={port}"),
            (false, PORT) => format!("postgres://{user}@{host}/{database}"),
            (false, port) => format!("postgres://{user}@{host}:{port}/{database}"),
        };
        Ok(Self { config, encryption, shown })
    }

    /// Makes a session.
    pub(super) fn connect(&self) -> Result<Client, ServerError> {
        let encrypted =
            |authorities: Option<&Path>| tls::connector(authorities).map_err(ServerError::Refused);
        let session = match &self.encryption {
            Encryption::Never => self.config.connect(NoTls),
            Encryption::Preferred | Encryption::Required => self.config.connect(encrypted(None)?),
            Encryption::Verified(roots) => self.config.connect(encrypted(Some(roots))?),
        };
        session.map_err(|error| refused(&error))
    }
}

/// Parts of a URL that the client library does not know.
#[derive(Default)]
struct OwnWords {
    mode: Option<String>,
    roots: Option<String>,
}

/// A URL without them.
fn own_words(url: &str) -> Result<(String, OwnWords), String> {
    let mut asked = OwnWords::default();
    let Some((before, query)) = url.split_once('?') else { return Ok((url.to_owned(), asked)) };
    let mut others = Vec::new();
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let mine = match key {
            "sslmode" => &mut asked.mode,
            "sslrootcert" => &mut asked.roots,
            _ => {
                others.push(pair);
                continue;
            }
        };
        let value = percent_decode_str(value).decode_utf8();
        *mine = Some(value.map_err(|_| format!("{key} is no text in UTF-8"))?.into_owned());
    }
    let others = others.join("&");
    Ok((if others.is_empty() { before.to_owned() } else { format!("{before}?{others}") }, asked))
}

fn encryption(mode: Option<&str>, roots: Option<PathBuf>) -> Result<Encryption, String> {
    match (mode.unwrap_or("prefer"), roots) {
        ("disable", _) => Ok(Encryption::Never),
        ("prefer", _) => Ok(Encryption::Preferred),
        ("require", None) => Ok(Encryption::Required),
        ("require" | "verify-full", Some(roots)) => Ok(Encryption::Verified(roots)),
        ("verify-full", None) => Err(
            "sslmode=verify-full needs sslrootcert=FILE, the certificates of the authorities that are believed \
             (those of the system are in /etc/ssl/certs/ca-certificates.crt)"
                .into(),
        ),
        // The valid texts are fixed; any other may be anything.
        ("allow" | "verify-ca", _) => Err(
            "sslmode=allow and sslmode=verify-ca are not supported; disable, prefer, require and verify-full are".into(),
        ),
        _ => Err("sslmode is none of disable, prefer, require, verify-full".into()),
    }
}

/// The name of the user who started the program, also where the process has moved into a user namespace, in which he is root.
fn name_of_user() -> Option<String> {
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let uid = outside(geteuid().as_raw(), &map);
    Some(User::from_uid(Uid::from_raw(uid)).ok()??.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_shown_wherever_it_stood() {
        for url in [
            "postgres://ann:s3cret@db.example:5433/lab?application_name=x",
            "postgresql://ann@db.example:5433/lab?password=s3cret",
        ] {
            let address = Address::read(url).unwrap();
            assert_eq!(address.to_string(), "postgres://ann@db.example:5433/lab");
            assert_eq!(address.config.get_password(), Some(&b"s3cret"[..]));
            assert!(!format!("{address:?}").contains("s3cret"));
        }
        for wrong in [
            "postgres://ann:s3cret@db.example:port/lab",
            "postgres://ann:s3cret@db.example/lab?s3cret",
            "postgres://ann:s3cret@[db.example/lab",
            "postgres://ann:s3cret@db.example/lab?sslmode=s3cret",
            "postgres://ann:s3cret@db.example/lab?sslmode=verify-ca",
        ] {
            let why = Address::read(wrong).unwrap_err();
            assert!(!why.contains("s3cret"), "{why}");
        }
    }

    #[test]
    fn a_socket_is_a_host() {
        let address = Address::read("postgres://ann@/lab?host=/run/x&port=7").unwrap();
        assert_eq!(address.to_string(), "postgres://ann@/lab?host=/run/x&port=7");
        assert_eq!(address.encryption, Encryption::Never);
        assert_eq!(
            Address::read(&address.to_string()).unwrap().shown,
            address.shown,
            "what is shown can be used"
        );
    }

    #[test]
    fn what_is_to_be_encrypted_never_goes_in_clear_text() {
        let of = |words: &str| {
            Address::read(&format!("postgres://ann@db.example/lab?{words}"))
                .map(|it| (it.encryption, it.config.get_ssl_mode()))
        };
        assert_eq!(of("sslmode=disable"), Ok((Encryption::Never, SslMode::Disable)));
        assert_eq!(of(""), Ok((Encryption::Preferred, SslMode::Prefer)));
        assert_eq!(of("sslmode=require"), Ok((Encryption::Required, SslMode::Require)));
        let verified = Encryption::Verified("/a b".into());
        assert_eq!(of("sslmode=verify-full&sslrootcert=/a%20b"), Ok((verified, SslMode::Require)));
        assert!(of("sslmode=verify-full").unwrap_err().contains("sslrootcert"));
        assert!(
            of("sslmode=verify-ca").is_err() && of("sslmode=allow").is_err() && of("sslmode=on").is_err()
        );
    }
}
