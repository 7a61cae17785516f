//! Foreign text on a terminal, the width of text, settings from the environment, and the description of the machine in
//! results.

use crate::lab::{Lab, Printed};

/// An experiment of a second with control sequences in its texts.
const NASTY: &str = r#"
question = "a\u001b[2Jb\rc\u202Ed\u009Be?"
[hosts.one]
sysctls = { "net.ipv4.tcp_tw_reuse" = 1 }
[hosts.two]
[[links]]
between = ["one", "two"]
mtu = 1400
[services."web\u001b]0;x\u0007"]
on = "two"
web = { clients = 2 }
[loads.some]
from = "one"
to = "web\u001b]0;x\u0007"
http = { connections = 200, concurrency = 2 }
[[phases]]
name = "all\r"
measure = "some"
slices = 2
[run]
max_trials = 1
"#;

/// Requires a result and messages without control sequences.
#[track_caller]
fn harmless(output: Printed) -> Printed {
    for text in [&output.stdout, &output.stderr] {
        let obeyed =
            |c: char| c != '\n' && c != '\t' && c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(obeyed), "{:?}", text.lines().find(|line| line.contains(obeyed)));
    }
    output
}

#[test]
fn texts_of_a_file_are_shown_and_not_obeyed() {
    let lab = Lab::new();
    let file = lab.file("na\u{1b}[31msty.toml", NASTY);
    harmless(lab.plimsoll(&["describe", &file]).exits(0)).prints(r"a\x1b[2Jb\rc\u{202e}d\u{9b}e?");
    harmless(lab.plimsoll(&["check", &file]).exits(0)).prints(r"na\x1b[31msty.toml is in order");
    let program = NASTY.replace("web = { clients = 2 }", r#"exec = ["rm", "-rf", "\rtrue"]"#);
    let program = lab.file("program.toml", &program);
    harmless(lab.plimsoll(&["describe", &program]).exits(0)).prints(r"rm -rf").prints(r"\rtrue");
    let wrong = lab.file("wrong.toml", &NASTY.replace("slices = 2", "slices = \"\u{202e}2\""));
    harmless(lab.plimsoll(&["check", &wrong]).exits(2)).says(r#"slices = "\u{202e}2""#);
    let raw = lab.file("raw.toml", &format!("# \u{1b}[2J\r\r\n{NASTY}"));
    harmless(lab.plimsoll(&["check", &raw]).exits(2)).says(r"# \x1b[2J\r");
}

#[test]
fn words_of_a_command_line_are_shown_and_not_obeyed() {
    let lab = Lab::new();
    harmless(lab.plimsoll(&["show", "\u{1b}[2J"]));
    harmless(lab.plimsoll(&["lis\u{1b}[2Jt"]).exits(2)).says(r"lis\x1b[2Jt");
    harmless(lab.plimsoll(&["trace", "no\u{202e}where"]).exits(2)).says(r"no\u{202e}where");
    let b = "printf '\u{9b}2J\\033[2J\\r' >&2; exit 3";
    harmless(lab.plimsoll(&["compare", "--a", "true", "--b", b]).exits(3)).says(r"\u{9b}2J\x1b[2J");
}

#[test]
fn a_run_says_what_it_was_measured_on_in_every_format_and_obeys_nothing() {
    let lab = Lab::new();
    let file = lab.file("nasty.toml", NASTY);
    let run = harmless(lab.plimsoll_in(&["run", &file, "--format", "json"], &[("COLUMNS", "80")]).exits(0));
    let report = run.json();
    let environment = &report["environment"];
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let machine = &environment["machines"][0];
    assert_eq!(machine["kernel"], kernel.trim());
    assert_eq!(machine["hosts"], serde_json::json!(["one", "two"]));
    assert!(machine["cpus"].as_u64() > Some(0) && machine["memory_bytes"].as_u64() > Some(0), "{machine}");
    assert_eq!(machine["inventory"]["schema"], "plimsoll.inventory/1");
    // The kernel's configuration, if this machine has it; sha256sum finds the same hash.
    let own = "if [ -r /proc/config.gz ]; then echo /proc/config.gz; zcat /proc/config.gz | sha256sum; \
               else echo /boot/config-$(uname -r); sha256sum < /boot/config-$(uname -r); fi 2>/dev/null";
    let own = std::process::Command::new("sh").args(["-c", own]).output().expect("sh starts");
    let own = String::from_utf8_lossy(&own.stdout).into_owned();
    let config = own.lines().zip(own.lines().skip(1)).next().map(|(source, hash)| (source, &hash[..64]));
    if let Some((source, hash)) = config {
        assert_eq!(machine["kernel_config"]["source"], source);
        assert_eq!(machine["kernel_config"]["sha256"], hash);
        assert!(machine["kernel_config"]["options"]["HZ"].is_string(), "{machine}");
    }
    assert_eq!(environment["plimsoll"], env!("CARGO_PKG_VERSION"));
    assert_eq!(environment["links"][0]["there"], "mtu 1400");
    assert_eq!(environment["sysctls"]["one"]["net.ipv4.tcp_tw_reuse"], "1");
    assert_eq!(environment["experiment"], NASTY);
    let vmstat = report["trials"][0]["vmstat"].as_array().unwrap();
    assert!(vmstat.iter().all(|row| row["context_switches_per_second"].as_f64() > Some(0.0)), "{vmstat:?}");

    for columns in ["60", "80", "120", "200"] {
        let shown = harmless(lab.plimsoll_in(&["show", "--details"], &[("COLUMNS", columns)]).exits(0));
        let width: usize = columns.parse().unwrap();
        let wide: Vec<_> = shown.stdout.lines().filter(|line| line.chars().count() > width).collect();
        // A path stays whole, however long it is: the test's own, or that of a file which the kernel does not show.
        let is_long = |word: &str| word.chars().count() + 4 > width;
        let wide: Vec<_> = wide.into_iter().filter(|line| !line.split_whitespace().any(is_long)).collect();
        assert!(wide.is_empty(), "at {columns} columns: {wide:#?}");
        assert!(columns != "200" || !shown.stdout.contains("hidden columns"), "{}", shown.stdout);
        shown.prints(&format!("machine: Linux {}", kernel.trim())).prints("one -- two: mtu 1400");
    }
    let markdown = harmless(lab.plimsoll(&["show", "--format", "markdown"]).exits(0));
    markdown.prints("<summary>Measured on</summary>").prints("net.ipv4.tcp_tw_reuse").prints("[hosts.one]");
    let page = lab.plimsoll(&["show", "--format", "html"]).exits(0);
    let page =
        page.prints("download=\"nasty.toml\"").prints("data:text/plain;charset=utf-8,%0Aquestion%20%3D");
    let mail = harmless(lab.plimsoll(&["show", "--format", "mail"]).exits(0));
    assert!(mail.stdout.lines().all(|line| line.chars().count() <= 72), "{}", mail.stdout);
    let mail = mail.prints("machine: Linux").prints("[hosts.one]").prints("To do it again");
    if let Some((source, hash)) = config {
        mail.prints("kernel config: ").prints(&format!("SHA-256 {}...", &hash[..12]));
        page.prints(source).prints("kernel config");
    }
    harmless(lab.plimsoll(&["show", "--format", "junit"]).exits(0));
    harmless(lab.plimsoll(&["history"]).exits(0)).prints("nasty");
}

#[test]
fn all_that_is_wrong_with_a_file_is_reported_at_once() {
    let lab = Lab::new();
    let file = lab.file(
        "wrong.toml",
        &NASTY
            .replace("on = \"two\"", "on = \"twi\"")
            .replace("from = \"one\"", "from = \"on\"")
            .replace("mtu = 1400", "mtu = 1"),
    );
    lab.plimsoll(&["check", &file])
        .exits(2)
        .prints_nothing()
        .says("there is no host `twi`")
        .says("there is no host `on`")
        .says("1 is out of range")
        .says("3 errors");
    let unread = lab.file(
        "unread.toml",
        &NASTY.replace("clients = 2", "cleints = 2").replace("concurrency = 2", "concurrency = \"two\""),
    );
    lab.plimsoll(&["check", &unread])
        .exits(2)
        .says("did you mean `clients`?")
        .says("concurrency = \"two\"")
        .says("2 errors");
}

#[test]
fn a_claim_is_about_a_figure_that_its_load_has() {
    let lab = Lab::new();
    let claimed = |metric: &str| {
        let factor = "[factors.c]\nset = \"loads.some.http.concurrency\"\nlevels = [1, 2]\n";
        let claim = format!(
            "[[claims]]\ndifference = {{ phase = \"all\\r\", factor = \"c\", metric = \"{metric}\" }}\n"
        );
        let file = lab.file(&format!("{metric}.toml"), &format!("{NASTY}{factor}{claim}"));
        harmless(lab.plimsoll(&["check", &file]))
    };
    claimed("mean_ms").exits(0);
    claimed("jitter_ms")
        .exits(2)
        .says("the load `some` of the phase `all\\r` has no `jitter_ms`")
        .says("one of `connections_per_second`");
    claimed("device_share").exits(2).says("has no `device_share`");
}

#[test]
fn the_environment_sets_options_of_the_commands_that_have_them() {
    let lab = Lab::new();
    let file = lab.file("small.toml", &format!("{NASTY}[quick]\n\"loads.some.http.connections\" = 7\n"));
    let describe = |quick: &str| lab.plimsoll_in(&["describe", &file], &[("PLIMSOLL_QUICK", quick)]).exits(0);
    describe("1").prints("7 connections");
    describe("true").prints("7 connections");
    describe("0").prints("200 connections");
    for format in ["json", "html", "junit", "markdown", "text"] {
        let list = lab.plimsoll_in(&["list"], &[("PLIMSOLL_FORMAT", format)]).exits(0);
        assert_eq!(list.stdout.starts_with('['), format == "json", "{format}: {}", list.stdout);
        lab.plimsoll_in(&["history"], &[("PLIMSOLL_FORMAT", format)]).exits(0);
    }
    lab.plimsoll_in(&["list"], &[("PLIMSOLL_FORMAT", "htmll")]).exits(2).says("htmll");
}

#[test]
fn a_file_of_the_users_own_sets_defaults_below_the_environment_and_the_command_line() {
    let lab = Lab::new();
    let file = lab.file("small.toml", &format!("{NASTY}[quick]\n\"loads.some.http.connections\" = 7\n"));
    let folder = lab.path(".config/plimsoll");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(
        folder.join("config.toml"),
        "format = \"json\"\n[describe]\nquick = true\nformat = \"text\"\n",
    )
    .unwrap();
    lab.plimsoll(&["describe", &file]).exits(0).prints("7 connections");
    lab.plimsoll_in(&["describe", &file], &[("PLIMSOLL_QUICK", "0")]).exits(0).prints("200 connections");
    lab.plimsoll(&["list"]).exits(0).prints("[");
    lab.plimsoll(&["list", "--format", "text"]).exits(0);
    let other = lab.file("other.toml", "[walk]\nquick = true\n");
    lab.plimsoll_in(&["list"], &[("PLIMSOLL_CONFIG", &other)])
        .exits(2)
        .says("there is no `walk`")
        .says("other.toml");
    lab.plimsoll_in(&["list"], &[("PLIMSOLL_CONFIG", "/nowhere")]).exits(2).says("cannot read /nowhere");
}
