//! Paths of a stranger's file, and of a foreign store: no link on them is followed, and the field is named.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::experiments::{FLOOD, one_service};
use crate::lab::{Lab, wait_until};
use crate::mail::through;

fn with_queue(lab: &Lab, queue: &str) -> String {
    lab.file("queue.toml", &through(&format!("mail_relay = {{ to = \"sink\", queue = \"{queue}\" }}")))
}

#[test]
fn a_queue_behind_a_link_is_refused_with_its_path_and_its_field() {
    let lab = Lab::of_ordinary_user();
    fs::create_dir_all(lab.path("real/deep")).expect("made");
    symlink("real", lab.path("link")).expect("made");
    let below = |name: &str| lab.path(name).display().to_string();
    for queue in [below("link"), below("link/deep/q"), "/proc/self/cwd/q".to_owned()] {
        let output = lab.plimsoll(&["run", &with_queue(&lab, &queue), "--yes"]).exits(3);
        output
            .says("services.relay.mail_relay.queue")
            .says(&format!("{queue} is or lies behind a symbolic link"));
    }
    let output = lab.plimsoll(&["run", &with_queue(&lab, &below("real/../q")), "--yes"]).exits(3);
    output.says("services.relay.mail_relay.queue").says("expected a path without `..`");
    assert_eq!(fs::read_dir(lab.path("real/deep")).expect("there").count(), 0);
    assert!(!lab.path("q").exists());
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_queue_is_made_for_the_user_of_its_service_and_never_where_a_link_leads() {
    let lab = Lab::of_root();
    let below = |name: &str| lab.path(name).display().to_string();
    let short = |file: &str| ["run".to_owned(), file.to_owned(), "--yes".to_owned()];
    let run = |file: &str| lab.plimsoll(&short(file).each_ref().map(String::as_str));
    run(&with_queue(&lab, &below("own"))).exits(0);
    assert_eq!(fs::metadata(lab.path("own")).expect("made").uid(), 65534);
    fs::create_dir(lab.path("of-root")).expect("made");
    run(&with_queue(&lab, &below("of-root"))).exits(3).says("belongs to user 0").says("user 65534");
    for name in ["outside", "flips"] {
        fs::create_dir(lab.path(name)).expect("made");
    }
    symlink(lab.path("outside"), lab.path("put")).expect("made");
    let ends = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                let flags = RenameFlags::RENAME_EXCHANGE;
                renameat2(AT_FDCWD, &lab.path("flips"), AT_FDCWD, &lab.path("put"), flags)
                    .expect("both are there");
            }
        });
        run(&with_queue(&lab, &below("flips/q")));
        ends.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(lab.path("outside")).expect("there").count(), 0);
}

#[test]
fn the_root_of_a_web_server_is_no_link_and_one_outside_is_asked_about() {
    let lab = Lab::of_ordinary_user();
    fs::create_dir(lab.path("site")).expect("made");
    fs::write(lab.path("site/index.html"), "text").expect("written");
    symlink("site", lab.path("link")).expect("made");
    let file = |root: &str| lab.file("web.toml", &one_service(&format!("web = {{ root = \"{root}\" }}")));
    lab.plimsoll(&["run", &file("site"), "--quick"]).exits(0);
    let output = lab.plimsoll(&["run", &file("link"), "--quick"]).exits(3);
    output.says("services.web.web.root").says("link is or lies behind a symbolic link");
    lab.plimsoll(&["run", &file("/etc"), "--quick"]).exits(2).says("services.web.web.root").says("/etc");
}

#[test]
fn a_configuration_file_behind_a_link_is_refused() {
    let lab = Lab::of_ordinary_user();
    lab.file("real.conf", "events {}\n");
    symlink("real.conf", lab.path("link.conf")).expect("made");
    let file = lab.file("nginx.toml", &one_service("nginx = {}\nconfig = \"link.conf\""));
    lab.plimsoll(&["check", &file]).exits(2).says("link.conf").says("symbolic link");
}

#[test]
fn links_in_a_foreign_store_are_neither_read_nor_written_through() {
    let lab = Lab::of_ordinary_user();
    let file = lab.file("web.toml", &one_service("web = {}"));
    fs::create_dir_all(lab.path("store")).expect("made");
    fs::create_dir(lab.path("elsewhere")).expect("made");
    for name in ["store", "elsewhere"] {
        fs::set_permissions(lab.path(name), Permissions::from_mode(0o777)).expect("its owner may");
    }
    symlink(lab.path("elsewhere"), lab.path("store/reports")).expect("made");
    let output = lab.plimsoll(&["run", &file, "--quick", "--store", "store/runs.sqlite"]);
    output.says("store/reports").says("symbolic link");
    fs::remove_file(lab.path("store/reports")).expect("removed");
    let claims = lab.path("store/runs.sqlite-claims");
    fs::remove_file(&claims).expect("the refused run made it");
    symlink(lab.path("elsewhere/made"), claims).expect("made");
    lab.plimsoll(&["run", &file, "--quick", "--store", "store/runs.sqlite"]).says("symbolic link");
    assert_eq!(fs::read_dir(lab.path("elsewhere")).expect("there").count(), 0);
}

/// Agents of a controller: processes whose command is `plimsoll agent`, below it.
fn agents(controller: u32) -> Vec<i32> {
    let is_below = |pid: u32| {
        let parent = |pid: u32| -> Option<u32> {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
        };
        std::iter::successors(Some(pid), |pid| parent(*pid)).any(|pid| pid == controller)
    };
    let is_agent =
        |path: &Path| fs::read(path.join("cmdline")).is_ok_and(|line| line.ends_with(b"plimsoll\0agent\0"));
    let entries = fs::read_dir("/proc").expect("there").flatten().map(|entry| entry.path());
    let agents = entries.filter(|path| is_agent(path));
    let pids = agents.filter_map(|path| path.file_name()?.to_str()?.parse::<u32>().ok());
    pids.filter(|pid| is_below(*pid)).filter_map(|pid| i32::try_from(pid).ok()).collect()
}

#[test]
fn the_end_of_an_agent_that_is_killed_is_reported() {
    let lab = Lab::of_ordinary_user();
    let file = lab.file("flood.toml", FLOOD);
    let running = lab.start(&["run", &file, "--set", "run.max_trials=1", "--format", "json"]);
    lab.wait_for_the_flood();
    let mut found = Vec::new();
    wait_until("an agent is found", || {
        found = agents(running.id());
        !found.is_empty()
    });
    kill(Pid::from_raw(found[0]), Signal::SIGKILL).expect("it runs");
    let output = running.ends();
    let all = format!("{}{}", output.stdout, output.stderr);
    assert!(all.contains("went away"), "{all}");
    assert!(all.contains("its process was ended by SIGKILL; the kernel's OOM killer killed"), "{all}");
}
