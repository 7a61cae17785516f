//! Scarce resources: processes, open files, memory, time.

use crate::lab::Lab;
use crate::stores::SHORT;

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn at_a_limit_on_processes_or_files_a_run_says_so_and_panics_nowhere() {
    let lab = Lab::of_root();
    lab.file("short.toml", SHORT);
    // A user id that no other process has, so only the run's processes count.
    let user = 61_000 + std::process::id() % 4000;
    for limit in ["nproc", "nofile"] {
        // With fewer, not even the programs before it start.
        for number in [5, 8, 12, 16, 20, 24, 28, 32, 40] {
            let output = lab.script(&format!(
                "here=$(mktemp -d /tmp/scarce.XXXXXX); trap 'rm -rf $here' EXIT; install -m 755 \"$PLIMSOLL\" $here/plimsoll; \
                 cp short.toml $here; chmod 755 $here; mkdir -m 777 $here/state; cd $here; \
                 HOME=$here XDG_STATE_HOME=$here/state setpriv --reuid={user} --regid={user} --clear-groups \
                 prlimit --{limit}={number}:{number} timeout 60 ./plimsoll run short.toml"
            ));
            let how = format!("{limit}={number}: {output:?}");
            assert!(!output.stderr.contains("panicked") && !output.stderr.contains("backtrace"), "{how}");
            assert!(matches!(output.code, Some(0 | 3 | 4)), "{how}");
            assert!(output.code == Some(0) || !output.stderr.is_empty(), "{how}");
        }
    }
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn a_service_that_used_up_its_hosts_memory_is_reported_and_the_agent_outlives_it() {
    let lab = Lab::of_root().allowing("machine");
    let experiment = SHORT
        .replace("[hosts.server]", "[hosts.server]\nmemory = \"64M\"")
        // An endless line, which it keeps.
        .replace("web = {}", "exec = [\"tail\", \"/dev/zero\"]\nready = { within = \"2m\" }");
    let experiment = lab.file("greedy.toml", &experiment);
    lab.plimsoll(&["run", &experiment])
        .exits(3)
        .says("killed by SIGKILL")
        .says("the memory that its host may use had run out");
    // When anything runs out, the program goes before the agent.
    let score = "exec = [\"sh\", \"-c\", \"cat /proc/self/oom_score_adj >&2; exit 1\"]";
    let experiment = lab.file("score.toml", &SHORT.replace("web = {}", score));
    lab.plimsoll(&["run", &experiment]).exits(3).says("it wrote: 500");
}

#[test]
#[ignore = "needs root; cargo xtask test runs it"]
fn ctrl_c_ends_a_run_whose_hosts_are_still_being_set_up() {
    let lab = Lab::of_root().allowing("machine");
    let volume =
        "[volumes.disk]\non = \"server\"\nloop = { size = \"64M\", filesystem = \"ext4\" }\n[services.web]";
    lab.file("disk.toml", &SHORT.replace("[services.web]", volume));
    std::fs::create_dir(lab.path("bin")).expect("allowed");
    // A file system that takes its time.
    lab.file("bin/mkfs.ext4", "#!/bin/sh\necho > begun\nexec sleep 1000\n");
    lab.script(
        "set -e; PATH=\"$PWD/bin:$PATH\" \"$PLIMSOLL\" run disk.toml & run=$!
         while ! test -e begun; do sleep 0.1; kill -0 $run; done
         kill -INT $run; wait $run",
    )
    // The script would have been killed while it waited for the file system.
    .exits(130);
    lab.plimsoll(&["history"]).exits(0).prints("interrupted");
}

#[test]
fn ctrl_c_ends_a_run_that_waits_for_a_service_to_be_ready() {
    let lab = Lab::of_ordinary_user();
    let never = SHORT.replace(
        "web = {}",
        "exec = [\"sh\", \"-c\", \"echo > begun; exec sleep 2000\"]\nprivileged = true\nready = { within = \"1000s\" }",
    );
    lab.file("never.toml", &never);
    lab.script(
        "set -e; \"$PLIMSOLL\" run never.toml --yes & run=$!
         while ! test -e begun; do sleep 0.1; kill -0 $run; done
         kill -INT $run; wait $run",
    )
    .exits(130);
}
