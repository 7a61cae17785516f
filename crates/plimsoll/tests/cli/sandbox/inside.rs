//! The probe inside real programs and built-in services: started by the program itself, at the moment when it begins to listen.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::{PROBE, bits, compare, run_with_probe, token};
use crate::lab::Lab;

/// Library that starts the probe in the place of listen(2).
const LIBRARY: &str = include_str!("inside.c");
/// Gives a command an `/etc` in which each program loads the library; `$0` is the folder with the library.
const PRELOAD: &str = "cp -a /etc \"$0\" && echo \"$0/inside.so\" >\"$0/etc/ld.so.preload\" && \
                       mount --bind \"$0/etc\" /etc && exec \"$@\"";

/// A program with the columns of the table that it belongs to.
struct Inside {
    /// Name of the listening process in the kernel.
    process: &'static str,
    /// The service in the experiment file.
    service: &'static str,
    root: usize,
    user: Option<usize>,
}

const fn server(process: &'static str, service: &'static str) -> Inside {
    Inside { process, service, root: 3, user: Some(4) }
}

const fn own(process: &'static str, service: &'static str) -> Inside {
    Inside { process, service, root: 0, user: Some(1) }
}

/// A built-in service has its own name as a process.
const fn built_in(service: &'static str) -> Inside {
    Inside { process: "probed", service, root: 6, user: Some(7) }
}

const PROGRAMS: [Inside; 13] = [
    server("nginx", "nginx = {}"),
    server("haproxy", "haproxy = { to = \"plain\" }"),
    server("apache2", "apache = {}"),
    Inside {
        process: "master",
        service: "postfix = { to = \"sink\", queue = \"{library}/queue\" }",
        root: 5,
        user: None,
    },
    own(
        "redis-server",
        "port = 8099\nexec = [\"redis-server\", \"--port\", \"{port}\", \"--save\", \"\", \"--dir\", \"{scratch}\"]",
    ),
    own(
        "unbound",
        "port = 8099\nexec = [\"sh\", \"-c\", '''printf 'server:\\n interface: {address}@{port}\\n username: \"\"\\n chroot: \"\"\\n \
         directory: \"\"\\n pidfile: \"\"\\n use-syslog: no\\n' >{scratch}/conf && exec unbound -d -c {scratch}/conf''']",
    ),
    own(
        "postgres",
        "port = 8099\nexec = [\"sh\", \"-c\", '''PATH=\"$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):$PATH\"; \
         initdb -D {scratch}/data --no-sync >&2 && exec postgres -D {scratch}/data -p {port} -k \"\"''']",
    ),
    built_in("web = {}"),
    built_in("relay = { to = \"plain\" }"),
    built_in("smtp_sink = {}"),
    built_in("mail_relay = { to = \"sink\" }"),
    built_in("tcp_proxy = { to = \"plain\" }"),
    built_in("bulk = {}"),
];

fn experiment(service: &str) -> String {
    // The variable is for programs of the file alone, which take one.
    let env = if service.contains("exec") { "env = { MODE = \"as named\" }" } else { "" };
    format!(
        "question = \"What can it reach?\"\n[hosts.server]\n[services.plain]\non = \"server\"\nweb = {{}}\n\
         [services.sink]\non = \"server\"\nsmtp_sink = {{}}\n[services.probed]\non = \"server\"\n{service}\n{env}\n\
         [loads.some]\nfrom = \"server\"\nto = \"plain\"\nhttp = {{ connections = 5 }}\n\
         [[phases]]\nname = \"all\"\nmeasure = \"some\"\nslices = 3\n[run]\nmax_trials = 1\n"
    )
}

/// Attempts that succeed in a running program, as bits.
fn reached(lab: Lab, program: &Inside) -> u128 {
    let token = token();
    // Programs do not see the folder where Plimsoll was started, so the library lies elsewhere.
    let library = tempfile::Builder::new().prefix("plimsoll-test-").tempdir_in("/opt").expect("root may");
    fs::set_permissions(library.path(), Permissions::from_mode(0o755)).expect("it is root's");
    let path = |name: &str| library.path().join(name);
    fs::create_dir(path("queue")).expect("it is root's");
    fs::write(path("probe.py"), PROBE).expect("writable");
    fs::write(path("inside.c"), LIBRARY).expect("writable");
    let outsider = std::process::id().to_string();
    let (probe, folder) = (path("probe.py"), lab.folder().to_owned());
    let texts = [("TARGET", Path::new(program.process)), ("PROBE", &probe), ("OUTSIDER", outsider.as_ref())];
    let result = path("queue/result");
    let texts = texts.into_iter().chain([
        ("FOLDER", folder.as_path()),
        ("TOKEN", token.as_ref()),
        ("RESULT", &result),
    ]);
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-Werror", "-o"])
        .args([path("inside.so"), path("inside.c")])
        .args(texts.map(|(name, text)| format!("-D{name}=\"{}\"", text.display())))
        .status();
    assert!(built.expect("cc starts").success());
    let library = library.path().display().to_string();
    let lab = lab.within(&["unshare", "--mount", "sh", "-c", PRELOAD, &library]);
    let output = run_with_probe(lab, &experiment(&program.service.replace("{library}", &library)), token);
    bits(&fs::read_to_string(result).unwrap_or(output))
}

#[test]
#[ignore = "needs root, nginx, HAProxy, httpd, Postfix, unbound, PostgreSQL and Redis; cargo xtask test runs it"]
fn real_programs_and_built_in_services_reach_what_the_table_says() {
    for program in &PROGRAMS {
        let lab = Lab::of_root().allowing("users,files");
        compare(program.root, program.service, reached(lab, program));
    }
}

#[test]
#[ignore = "needs root, nginx, HAProxy, httpd, unbound, PostgreSQL and Redis; cargo xtask test runs it"]
fn real_programs_and_built_in_services_of_an_ordinary_user_reach_what_the_table_says() {
    for program in &PROGRAMS {
        if let Some(column) = program.user {
            compare(column, program.service, reached(Lab::of_ordinary_user(), program));
        }
    }
}
