//! Traffic to a server is encrypted as `sslmode` says, or does not go.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::server::{Cluster, cluster, place, url};
use super::*;

/// Whether a session that this URL makes is encrypted, or why there is none.
fn is_encrypted(host: &str, words: &str) -> Result<bool, String> {
    let url = format!("postgres://plimsoll@{host}:{}/postgres?{words}", cluster().port);
    let store = Store::open_at(&place(&url)).map_err(|error| error.to_string())?;
    let query = "select cast(ssl as integer) from pg_stat_ssl where pid = pg_backend_pid()";
    let row = store.database.first(query, &[]).unwrap().unwrap();
    Ok(row.get::<u32>(0).unwrap() == 1)
}

#[test]
#[ignore = "needs postgresql"]
fn a_session_is_as_encrypted_as_it_is_asked_for() {
    let Cluster { folder, .. } = cluster();
    assert_eq!(is_encrypted("127.0.0.1", "sslmode=disable"), Ok(false));
    assert_eq!(is_encrypted("127.0.0.1", ""), Ok(true), "the server can");
    assert_eq!(is_encrypted("127.0.0.1", "sslmode=require"), Ok(true), "any server");
    let own = format!("sslrootcert={}", folder.join("certificate.pem").display());
    assert_eq!(is_encrypted("localhost", &format!("sslmode=verify-full&{own}")), Ok(true));
    let other_name = is_encrypted("127.0.0.1", &format!("sslmode=verify-full&{own}")).unwrap_err();
    assert!(other_name.contains("certificate not valid for name"), "{other_name}");
    let other_folder = tempfile::tempdir().unwrap();
    let other = other_folder.path().join("other.pem");
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(&other, certified.cert.pem()).unwrap();
    let words = format!("sslmode=require&sslrootcert={}", other.display());
    let other_signer = is_encrypted("localhost", &words).unwrap_err();
    assert!(other_signer.contains("invalid peer certificate"), "{other_signer}");
}

#[test]
#[ignore = "needs postgresql"]
fn a_password_is_proved_to_the_server_at_the_other_end_of_the_encryption() {
    let own = postgres::Client::connect(&url(), postgres::NoTls);
    own.unwrap().batch_execute("create role locked superuser login password 'open sesame'").unwrap();
    let open = |password: &str, mode: &str| {
        let port = cluster().port;
        let locked = format!("postgres://locked:{password}@localhost:{port}/postgres?sslmode={mode}");
        Store::open_at(&place(&locked)).map(drop).map_err(|error| error.to_string())
    };
    for mode in ["disable", "require"] {
        assert_eq!(open("open%20sesame", mode), Ok(()));
        let refused = open("closed", mode).unwrap_err();
        assert!(refused.contains("password authentication failed for user \"locked\""), "{refused}");
    }
}

#[test]
fn nothing_goes_in_clear_text_to_a_server_that_has_no_tls() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It says no to TLS, as PostgreSQL does, and listens what comes then.
    let server = thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut asked = [0; 8];
        client.read_exact(&mut asked).unwrap();
        client.write_all(b"N").unwrap();
        let mut more = Vec::new();
        client.read_to_end(&mut more).ok();
        (asked, more)
    });
    let url = format!("postgres://ann:s3cret@127.0.0.1:{port}/runs?sslmode=require");
    let error = Store::open_at(&place(&url)).unwrap_err().to_string();
    assert!(error.contains("server does not support TLS") && !error.contains("s3cret"), "{error}");
    let (asked, more) = server.join().unwrap();
    assert_eq!(asked[4..], 80_877_103_u32.to_be_bytes(), "the request for TLS");
    assert!(more.is_empty(), "{more:?}");
}
