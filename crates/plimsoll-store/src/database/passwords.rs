//! Passwords for servers, from where PostgreSQL's own programs take them: the file of passwords, one line for each
//! (<https://www.postgresql.org/docs/current/libpq-pgpass.html>).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Server and user of a password.
pub(super) struct PasswordOwner<'a> {
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) database: &'a str,
    pub(super) user: &'a str,
}

/// The password in the file that `PGPASSFILE` names, or else in `.pgpass` in the user's home.
pub(super) fn of_user(wanted: &PasswordOwner<'_>) -> Option<String> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let path = std::env::var_os("PGPASSFILE").map(PathBuf::from).or_else(home)?;
    let text = read(&path)?;
    text.lines().find_map(|line| of_line(line, wanted))
}

/// A file that others may read is not used, as nowhere.
fn read(path: &Path) -> Option<String> {
    let about = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    if about.permissions().mode() & 0o077 != 0 {
        tracing::warn!(
            "{} is not used: others than its owner may read or write it; chmod 600 helps",
            path.display()
        );
        return None;
    }
    fs::read_to_string(path).ok()
}

/// The password of a line `host:port:database:user:password`, where it is about what is wanted. A `*` fits everything.
fn of_line(line: &str, wanted: &PasswordOwner<'_>) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut()?.extend(letters.next()),
            letter => fields.last_mut()?.push(letter),
        }
    }
    let [host, port, database, user, password] = <[String; 5]>::try_from(fields).ok()?;
    let fits = |field: &str, wanted: &str| field == "*" || field == wanted;
    let is_it = fits(&host, wanted.host)
        && fits(&port, &wanted.port.to_string())
        && fits(&database, wanted.database)
        && fits(&user, wanted.user);
    is_it.then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WANTED: PasswordOwner<'_> =
        PasswordOwner { host: "db.example", port: 5432, database: "lab", user: "ann" };

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let of = |line| of_line(line, &WANTED);
        assert_eq!(of("db.example:5432:lab:ann:open sesame").as_deref(), Some("open sesame"));
        assert_eq!(of("*:*:*:ann:a\\:b\\\\c").as_deref(), Some("a:b\\c"));
        assert_eq!(of("*:*:*:bob:x"), None);
        assert_eq!(of("#*:*:*:*:x"), None);
        assert_eq!(of("db.example:5433:lab:ann:x"), None);
        assert_eq!(of("too:short"), None);
        assert_eq!(of("*:*:*:*:with:colons").as_deref(), Some("with:colons"));
    }

    #[test]
    fn a_file_that_others_may_read_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pgpass");
        fs::write(&path, "*:*:*:*:x").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(read(&path), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(&path).as_deref(), Some("*:*:*:*:x"));
    }
}
