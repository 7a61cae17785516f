//! Consent: what a file does beyond an unprivileged program in namespaces of its own is done only for a user who allows it.

use crate::experiments::one_service;
use crate::lab::{Lab, Printed};

/// An experiment whose web server reads a folder outside of the experiment's own.
fn elsewhere(lab: &Lab) -> String {
    let folder = lab.path("mine");
    std::fs::create_dir(&folder).expect("allowed");
    lab.file("mine/elsewhere.toml", &one_service("web = { root = \"/etc\" }"))
}

/// Requires that the run began, with any verdict.
#[track_caller]
fn begun(output: &Printed) {
    assert!(matches!(output.code, Some(0 | 1 | 4)), "{output:?}");
}

fn refused(lab: &Lab, name: &str, text: &str, kind: &str, what: &str) {
    let file = lab.file(name, text);
    let output = lab.plimsoll(&["run", &file]).exits(2).prints_nothing();
    output.says(what).says(&format!("`--allow {kind}` allows that; there is no terminal to ask on"));
    assert!(lab.stored().is_none(), "nothing was begun");
    lab.plimsoll(&["check", &file]).exits(0).prints(&format!("`run --allow {kind}`, or a yes on a terminal"));
}

#[test]
fn without_a_terminal_each_kind_of_consent_has_to_be_given_by_its_name() {
    let lab = Lab::of_ordinary_user();
    let host = |keys: &str, service: &str| {
        one_service(service).replace("[hosts.server]", &format!("[hosts.server]\n{keys}"))
    };
    let sink = "\n[services.sink]\non = \"server\"\nsmtp_sink = {}";
    let program = "exec = [\"./server\"]";
    for (kind, what, text) in [
        (
            "privileged",
            "with all rights of the caller",
            one_service(&format!("{program}\nprivileged = true")),
        ),
        (
            "users",
            "as root with few capabilities",
            one_service(&format!("postfix = {{ to = \"sink\" }}{sink}")),
        ),
        ("local", "processes of the machine itself", host("kind = \"local\"", program)),
        ("machine", "vm.swappiness = 10", host("sysctls = { \"vm.swappiness\" = 10 }", "web = {}")),
        ("files", "serves the files below /etc", one_service("web = { root = \"/etc\" }")),
        (
            "secrets",
            "TOKEN (services.web.pass_env",
            one_service(&format!("{program}\npass_env = [\"TOKEN\"]")),
        ),
        (
            "machine,files",
            "a loop device",
            one_service("web = {}")
                + "\n[volumes.v]\non = \"server\"\nloop = { size = \"1M\", in = \"/var\" }\n",
        ),
    ] {
        refused(&lab, "asks.toml", &text, kind, what);
    }
}

#[test]
fn consent_lets_a_file_do_what_was_allowed_and_nothing_else() {
    let lab = Lab::of_ordinary_user();
    let file = elsewhere(&lab);
    let run = |more: &[&str]| lab.plimsoll(&[&["run", &file, "--reps", "1"], more].concat());
    run(&["--allow", "machine,secrets"]).exits(2).says("--allow files");
    run(&["--allow", "file"])
        .exits(2)
        .says("possible values: privileged, users, local, machine, files, secrets");
    begun(&run(&["--allow", "machine", "--allow", "files"]));
    begun(&lab.plimsoll_in(&["run", &file, "--reps", "1"], &[("PLIMSOLL_ALLOW", "files,machine")]));
}

#[test]
fn on_a_terminal_run_asks_and_takes_no_for_an_answer() {
    let lab = Lab::of_ordinary_user();
    let file = elsewhere(&lab);
    let asked = |answer: &str| -> Printed {
        let inside = format!("$PLIMSOLL run {file} --reps 1 --no-live");
        lab.script(&format!("echo {answer} | script -qec '{inside}' /dev/null"))
    };
    let output = asked("n").exits(2).prints("serves the files below /etc").prints("Go on? [y/N]");
    output.prints("nothing was started");
    assert!(lab.stored().is_none());
    begun(&asked("y").prints("Go on? [y/N]"));
}

#[test]
fn paths_in_the_folder_of_the_file_need_no_consent_wherever_it_is_started() {
    let lab = Lab::of_ordinary_user();
    let site = lab.path("site");
    std::fs::create_dir(&site).expect("allowed");
    lab.file("site/index.html", "hello");
    let root = |path: &str| one_service(&format!("web = {{ root = \"{path}\" }}"));
    let free = "nothing that an ordinary user has not got\n";
    let own = lab.file("own.toml", &root(&site.display().to_string()));
    let output = lab.script(&format!("cd / && \"$PLIMSOLL\" check {own}")).exits(0);
    assert!(output.stdout.ends_with(free), "{}", output.stdout);
    begun(&lab.plimsoll(&["run", &own, "--reps", "1"]));
    // A link and `..` lead out of the folder.
    std::os::unix::fs::symlink("/etc", lab.path("link")).expect("allowed");
    for path in ["link", "link/none", "../", "site/../../", "none/../.."] {
        let file = lab.file("out.toml", &root(path));
        lab.plimsoll(&["check", &file]).exits(0).prints("`run --allow files`");
    }
}

#[test]
fn what_only_the_quick_settings_name_is_listed_too() {
    let lab = Lab::of_ordinary_user();
    let quick = "\n[quick]\n\"services.web.exec\" = [\"./quick\"]\n\"services.web.pass_env\" = [\"TOKEN\"]\n";
    let file = lab.file("quick.toml", &(one_service("exec = [\"./slow\"]") + quick));
    for command in ["check", "describe"] {
        let output = lab.plimsoll(&[command, &file]).exits(0);
        let output = output.prints("./slow (services.web.exec on server), as nobody");
        let output = output.prints("./quick (services.web.exec on server), as nobody, the machine's files read-only, only with --quick");
        output.prints("TOKEN (services.web.pass_env on server), only with --quick, --allow secrets");
        let json = lab.plimsoll(&[command, &file, "--format", "json"]).exits(0).json();
        assert_eq!(json["allow"], serde_json::json!(["secrets"]));
        let quick = |effect: &&serde_json::Value| effect["quick"] == true;
        assert_eq!(json["machine"].as_array().expect("a list").iter().filter(quick).count(), 2, "{json}");
    }
    lab.plimsoll(&["run", &file, "--quick"]).exits(2).says("--allow secrets");
    // Without them nothing is passed on, and the program is missed.
    lab.plimsoll(&["run", &file]).exits(3).says("./slow");
}

#[test]
fn rights_beyond_those_of_an_unprivileged_program_are_listed_by_kind() {
    let lab = Lab::new();
    let service = "postfix = { to = \"sink\" }\n[services.sink]\non = \"server\"\nsmtp_sink = {}\n[services.front]\non = \"server\"\nnginx = {}";
    let file = lab.file("rights.toml", &one_service(service));
    let output = lab.plimsoll(&["check", &file]).exits(0);
    let output = output.prints("Postfix: the caller with CHOWN, DAC_OVERRIDE");
    output.prints("built-in service: nobody with NET_BIND_SERVICE, SYS_RESOURCE");
    let json = lab.plimsoll(&["check", &file, "--format", "json"]).exits(0).json();
    let kinds: Vec<_> = json["rights"].as_array().expect("a list").iter().map(|row| &row["kind"]).collect();
    assert_eq!(kinds, ["Postfix", "built-in service"]);
}

#[test]
fn a_file_with_the_name_of_a_shipped_experiment_is_what_runs_and_a_warning_says_so() {
    let lab = Lab::of_ordinary_user();
    lab.file("flood-relay", &one_service("web = {}"));
    let warning =
        "`flood-relay` is a file here, and not the experiment recovery/flood-relay that comes with Plimsoll";
    lab.plimsoll(&["check", "flood-relay"]).exits(0).prints("1 service,").says(warning);
    begun(&lab.plimsoll(&["run", "flood-relay", "--reps", "1", "--quiet"]).says(warning));
    let shipped = lab.plimsoll(&["check", "recovery/flood-relay"]).exits(0);
    assert!(!shipped.stderr.contains("warning"), "{shipped:?}");
    // A path names the user's file.
    let path = lab.plimsoll(&["check", "./flood-relay"]).exits(0);
    assert!(!path.stderr.contains("warning"), "{path:?}");
}

#[test]
fn settings_that_a_program_does_not_take_from_a_file_are_refused() {
    let lab = Lab::new();
    for service in [
        "nginx = { error_log = \"/etc/passwd\" }",
        "nginx = { settings = { load_module = \"/tmp/mine.so\" } }",
        "apache = { LoadModule = \"mine /tmp/mine.so\" }",
        "haproxy = { to = \"web\", insecure-fork-wanted = true }",
        "postfix = { to = \"web\", settings = { daemon_directory = \"/tmp/mine\" } }",
    ] {
        let file = lab.file("refused.toml", &one_service(service));
        let output = lab.plimsoll(&["check", &file]).exits(2);
        assert!(
            output.stderr.contains("unknown field") || output.stderr.contains("not among the settings"),
            "{service}: {output:?}"
        );
    }
}

#[test]
fn a_folder_whose_name_is_configuration_is_refused() {
    let lab = Lab::of_ordinary_user();
    let folder = "site; load_module mine.so";
    std::fs::create_dir(lab.path(folder)).expect("allowed");
    for program in ["nginx", "apache"] {
        let file = lab.file("root.toml", &one_service(&format!("{program} = {{ root = \"{folder}\" }}")));
        lab.plimsoll(&["check", &file]).exits(2).says("cannot stand in a configuration file");
    }
}

#[test]
fn a_configuration_file_counts_as_a_program_of_its_author() {
    let lab = Lab::new();
    lab.file("own.conf", "events {}\n");
    let programs = [
        "nginx = {}",
        "apache = {}",
        "haproxy = { to = \"sink\" }",
        "exec = [\"unbound\", \"-c\", \"{config}\"]",
        "exec = [\"redis-server\", \"{config}\"]",
        "exec = [\"postgres\", \"-D\", \"{config}\"]",
    ];
    for program in programs {
        let service =
            format!("{program}\nconfig = \"own.conf\"\n[services.sink]\non = \"server\"\nsmtp_sink = {{}}");
        let file = lab.file("configured.toml", &one_service(&service));
        let output = lab.plimsoll(&["check", &file]).exits(0);
        let output = output.prints(
            "own.conf, a configuration that can do all that its program may (services.web.config on server)",
        );
        assert!(output.stdout.contains("as nobody") && !output.stdout.contains("--allow"), "{output:?}");
    }
}

#[test]
fn a_bisection_asks_once_for_all_of_its_runs() {
    let lab = Lab::of_ordinary_user();
    let file = elsewhere(&lab);
    let versions =
        lab.file("versions", "one: services.web.web.clients=10\ntwo: services.web.web.root=/usr\n");
    let args = ["bisect", "--experiment", &file, "--versions", &versions];
    let output = lab.plimsoll(&args).exits(2).says("`--allow files` allows that");
    output.says("serves the files below /etc").says("serves the files below /usr");
}
