//! TLS and HTTP/2: generator and built-in server against each other, and the server against curl.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use plimsoll_load::{Control, run};
use plimsoll_model::experiment::load::http::{HttpFacts, HttpVersion, Side};
use plimsoll_model::experiment::service::WebModel;
use plimsoll_model::experiment::{HttpLoad, Metric, WebService};
use plimsoll_model::frame::{CERTIFIED_NAME, Certificate, Failure, LoadSpec, ServiceKind, Trust};
use plimsoll_model::observation::{ErrorKind, LoadResult};
use rcgen::{CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::load::{connections, spec};
use crate::service::{Service, command, spec as service_spec};

fn certificate() -> Certificate {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(rcgen::DnType::CommonName, "authority");
    authority.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let signed = authority.self_signed(&key).unwrap();
    let issuer = Issuer::new(authority, key);
    let key = KeyPair::generate().unwrap();
    let service = CertificateParams::new([CERTIFIED_NAME.to_owned()]).unwrap().signed_by(&key, &issuer);
    Certificate { authority: signed.pem(), certificate: service.unwrap().pem(), key: key.serialize_pem() }
}

fn serve(options: WebService, certificate: &Certificate) -> Service {
    let mut spec =
        service_spec(ServiceKind::Web(options), vec!["127.0.0.1:0".parse().unwrap()], Vec::new(), None);
    spec.certificate = Some(certificate.clone());
    Service::start_spec(&spec, command)
}

fn drive(to: SocketAddr, authority: &str, load: HttpLoad) -> LoadResult {
    drive_trusting(to, Some(Trust::Authority(authority.to_owned())), load).unwrap()
}

fn drive_trusting(to: SocketAddr, trust: Option<Trust>, load: HttpLoad) -> Result<LoadResult, Failure> {
    let abort = AtomicBool::new(false);
    let control = Control { abort: &abort, progress: &|_| {}, every: Duration::from_secs(1) };
    run(&LoadSpec { trust, ..spec(&[to], load) }, &control)
}

const MODELS: [WebModel; 5] = [
    WebModel::EventLoop,
    WebModel::Prefork,
    WebModel::PreforkSerialised,
    WebModel::ForkPerConnection,
    WebModel::Threads,
];

/// The loads of the tests: connections with `requests` requests on each, in each of the ways.
fn ways(requests: u64) -> Vec<HttpLoad> {
    let two =
        HttpLoad { version: HttpVersion::Http2, streams: requests.min(10) as u32, ..connections(40, 4) };
    let plain =
        HttpLoad { requests_per_connection: requests, path: "/?s=70000".into(), ..connections(40, 4) };
    let all = [
        HttpLoad { tls: true, ..plain.clone() },
        HttpLoad { tls: true, close_first: Side::Client, ..plain.clone() },
        HttpLoad { requests_per_connection: requests, path: plain.path.clone(), ..two.clone() },
        HttpLoad { requests_per_connection: requests, path: plain.path, tls: true, ..two },
    ];
    all.into()
}

#[test]
fn every_model_serves_every_version_with_and_without_tls() {
    let certificate = certificate();
    for model in MODELS {
        for (tls, version) in
            [(true, HttpVersion::Http1), (false, HttpVersion::Http2), (true, HttpVersion::Http2)]
        {
            let web = serve(
                WebService { model, clients: 8, tls, http2: true, ..WebService::default() },
                &certificate,
            );
            for load in ways(30).into_iter().filter(|load| (load.tls, load.version) == (tls, version)) {
                let found = drive(web.address(), &certificate.authority, load.clone());
                let about = format!("{model:?} {load:?} {:?} {:?}", found.errors, found.first_error);
                assert_eq!((found.connections, found.requests), (40, 1200), "{about}");
                assert!(found.bytes >= 1200 * 70_000, "{about}: {}", found.bytes);
                let handshakes =
                    found.found::<HttpFacts>().map(|facts| (facts.handshakes.len(), facts.resumed));
                assert_eq!(handshakes, tls.then_some((40, 0)), "{about}");
            }
        }
    }
}

#[test]
fn sessions_are_resumed_only_where_the_load_says_so_and_by_every_process() {
    let certificate = certificate();
    let web = serve(WebService { clients: 4, tls: true, ..WebService::default() }, &certificate);
    let load = HttpLoad { tls: true, resume: true, ..connections(100, 1) };
    let found = drive(web.address(), &certificate.authority, load);
    let facts = found.found::<HttpFacts>().unwrap();
    assert_eq!((facts.handshakes.len(), facts.resumed), (100, 99), "{:?}", found.first_error);
    assert_eq!(found.figure(Metric::ResumedShare), Some(0.99));
    let median = found.figure(Metric::HandshakeMedianMs).unwrap();
    assert!(median > 0.0 && median <= found.figure(Metric::HandshakeP99Ms).unwrap());
    assert!(median <= found.figure(Metric::MedianMs).unwrap(), "a handshake is a part of its connection");
}

#[test]
fn a_certificate_of_another_authority_is_refused_with_the_reason() {
    let (ours, other) = (certificate(), certificate());
    let web = serve(WebService { clients: 4, tls: true, ..WebService::default() }, &ours);
    let found = drive(web.address(), &other.authority, HttpLoad { tls: true, ..connections(5, 1) });
    assert_eq!(found.errors, [(ErrorKind::Handshake, 5)].into());
    assert!(found.first_error.unwrap().contains("certificate"));
    assert_eq!(found.connections, 0);
}

#[test]
fn a_certificate_of_any_signer_is_taken_only_where_the_load_says_so() {
    let web = serve(WebService { clients: 4, tls: true, ..WebService::default() }, &certificate());
    let load = || HttpLoad { tls: true, ..connections(5, 1) };
    assert_eq!(drive_trusting(web.address(), Some(Trust::AnySigner), load()).unwrap().connections, 5);
    assert!(drive_trusting(web.address(), None, load()).is_err(), "no server is trusted");
}

#[test]
fn a_server_that_speaks_something_else_is_distinguished_from_one_that_is_slow() {
    let certificate = certificate();
    let plain = serve(WebService { clients: 4, ..WebService::default() }, &certificate);
    let errors = |load| drive(plain.address(), &certificate.authority, load).errors;
    let tls = errors(HttpLoad { tls: true, ..connections(3, 1) });
    assert_eq!(tls, [(ErrorKind::Handshake, 3)].into());
    let http2 = errors(HttpLoad { version: HttpVersion::Http2, ..connections(3, 1) });
    assert_eq!(http2, [(ErrorKind::Garbage, 3)].into());
}

#[test]
fn a_status_is_a_fault_and_the_connection_goes_on_in_http2_too() {
    let certificate = certificate();
    let web = serve(
        WebService { model: WebModel::EventLoop, tls: true, http2: true, ..WebService::default() },
        &certificate,
    );
    let load = HttpLoad {
        version: HttpVersion::Http2,
        tls: true,
        streams: 5,
        requests_per_connection: 10,
        path: "/nothing".into(),
        ..connections(3, 1)
    };
    let found = drive(web.address(), &certificate.authority, load);
    assert_eq!(found.errors, [(ErrorKind::Status, 30)].into());
    assert!(found.first_error.unwrap().contains("404"));
}

#[test]
fn a_server_that_ends_connections_is_followed_in_http2() {
    let certificate = certificate();
    let options = WebService {
        model: WebModel::EventLoop,
        http2: true,
        keep_alive_requests: 20,
        ..WebService::default()
    };
    let web = serve(options, &certificate);
    let load = HttpLoad {
        version: HttpVersion::Http2,
        streams: 10,
        requests_per_connection: 0,
        duration: Some(plimsoll_model::units::Span::millis(300)),
        connections: None,
        concurrency: 4,
        ..HttpLoad::default()
    };
    let found = drive(web.address(), &certificate.authority, load);
    assert_eq!(found.failed(), 0, "{:?} {:?}", found.errors, found.first_error);
    assert!(found.connections > 4 && found.requests <= found.connections * 20, "{found:?}");
}

/// Reply of a server over TLS to a client that offers these versions and sends these bytes.
fn said(to: SocketAddr, authority: &str, versions: &[&[u8]], words: &[u8]) -> Vec<u8> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = versions.iter().map(|version| version.to_vec()).collect();
    let name = CERTIFIED_NAME.try_into().unwrap();
    let mut tls = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
    let mut socket = TcpStream::connect(to).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut stream = rustls::Stream::new(&mut tls, &mut socket);
    stream.write_all(words).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    said
}

#[test]
fn what_was_agreed_on_is_spoken_whatever_the_client_says() {
    // As h2spec has it, section 3.5: a client of HTTP/2 with a wrong preface gets no answer in HTTP/1.1.
    let certificate = certificate();
    let options = WebService { model: WebModel::EventLoop, tls: true, http2: true, ..WebService::default() };
    let web = serve(options, &certificate);
    let words = b"INVALID CONNECTION PREFACE\r\n\r\n";
    let said = |versions: &[&[u8]]| said(web.address(), &certificate.authority, versions, words);
    let in_two = said(&[b"h2"]);
    assert!(!in_two.windows(4).any(|bytes| bytes == b"HTTP"), "{}", String::from_utf8_lossy(&in_two));
    for versions in [&[&b"http/1.1"[..]][..], &[]] {
        assert!(said(versions).starts_with(b"HTTP/1.1 400"));
    }
}

/// Result of curl: the HTTP version, the status, and the number of bytes.
fn curl(web: &Service, folder: &std::path::Path, arguments: &[&str], path: &str) -> String {
    let port = web.address().port();
    let scheme = if arguments.contains(&"--http2-prior-knowledge") { "http" } else { "https" };
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20", "--tlsv1.3", "--output", "/dev/null"])
        .args(["--write-out", "%{http_version} %{response_code} %{size_download} %{ssl_verify_result}"])
        .args(["--resolve", &format!("{CERTIFIED_NAME}:{port}:127.0.0.1")])
        .arg("--cacert")
        .arg(folder.join("authority.pem"))
        .args(arguments)
        .arg(format!("{scheme}://{CERTIFIED_NAME}:{port}{path}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "needs curl; cargo xtask test installs and runs it"]
fn curl_gets_documents_from_the_built_in_server_in_every_version() {
    let (certificate, folder) = (certificate(), tempfile::tempdir().unwrap());
    std::fs::write(folder.path().join("authority.pem"), &certificate.authority).unwrap();
    std::fs::write(folder.path().join("large.bin"), vec![7; 3_000_000]).unwrap();
    let root: Option<String> = folder.path().to_str().map(Into::into);
    for model in [WebModel::EventLoop, WebModel::Prefork] {
        let options =
            WebService { model, clients: 4, http2: true, root: root.clone(), ..WebService::default() };
        let secure = serve(WebService { tls: true, ..options.clone() }, &certificate);
        let plain = serve(options, &certificate);
        for (path, status, length) in
            [("/", 200, 1024), ("/large.bin", 200, 3_000_000), ("/nothing", 404, 14)]
        {
            let expected = |version| format!("{version} {status} {length} 0");
            assert_eq!(curl(&secure, folder.path(), &["--http2"], path), expected("2"));
            assert_eq!(curl(&secure, folder.path(), &["--http1.1"], path), expected("1.1"));
            assert_eq!(curl(&plain, folder.path(), &["--http2-prior-knowledge"], path), expected("2"));
        }
        let upload = ["--http2", "--data", "x=1"];
        assert_eq!(curl(&secure, folder.path(), &upload, "/"), "2 405 23 0");
    }
}
