//! Hosts that are virtual machines with a kernel of their own, run by the real QEMU.
//!
//! Their kernel is Debian's, which `cargo xtask test` fetches and unpacks.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::lab::{Lab, verdict_of, wait_until};
use crate::machine;
use crate::mail::{balance, through};

/// Where `cargo xtask test` unpacks the package of the kernel.
const PACKAGE: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/guest-kernel");
/// How long after the controller's death nothing may be left.
const NOTHING_LEFT_AFTER: Duration = Duration::from_secs(2);

fn kernel() -> PathBuf {
    let boot = Path::new(PACKAGE).join("boot");
    let files = fs::read_dir(&boot).unwrap_or_else(|error| {
        panic!("{}: {error}; `cargo xtask test` puts a kernel for guests there", boot.display())
    });
    let mut images =
        files.flatten().map(|file| file.path()).filter(|path| path.to_string_lossy().contains("vmlinuz-"));
    images.next().expect("the package has a kernel")
}

/// A guest with a load inside of it, and more said of the guest.
fn alone(kernel: &Path, more: &str) -> String {
    format!(
        "question = \"Does a guest work?\"\n[hosts.box]\nkernel = \"{}\"\n{more}\n[services.web]\non = \"box\"\nweb = {{}}\n\
         [loads.get]\nfrom = \"box\"\nto = \"web\"\nhttp = {{ connections = 20 }}\n[[phases]]\nname = \"work\"\nmeasure = \"get\"\nslices = 2\n\
         [run]\nmin_trials = 1\nmax_trials = 1\n",
        kernel.display()
    )
}

/// A guest that forwards between two namespaces, one of them behind its address, and the relay on it.
fn between(kernel: &Path) -> String {
    format!(
        "question = \"Does a guest join links?\"\n[hosts.client]\n[hosts.firewall]\nkernel = \"{}\"\nforward = true\n\
         nat = {{ of = [\"client\"] }}\nsysctls = {{ \"vm.swappiness\" = 7 }}\n[hosts.server]\n\
         [[links]]\nbetween = [\"client\", \"firewall\"]\n[[links]]\nbetween = [\"firewall\", \"server\"]\n\
         [services.web]\non = \"server\"\nweb = {{}}\n[services.relay]\non = \"firewall\"\nrelay = {{ to = \"web\" }}\n\
         [loads.relayed]\nfrom = \"client\"\nto = \"relay\"\nhttp = {{ connections = 20 }}\n\
         [loads.forwarded]\nfrom = \"client\"\nto = \"web\"\nhttp = {{ connections = 20 }}\n\
         [[phases]]\nname = \"relayed\"\nmeasure = \"relayed\"\nslices = 2\n[[phases]]\nname = \"forwarded\"\nmeasure = \"forwarded\"\nslices = 2\n\
         [run]\nmin_trials = 1\nmax_trials = 1\n",
        kernel.display()
    )
}

#[test]
#[ignore = "needs qemu-system-x86 and a kernel; cargo xtask test has both"]
fn services_and_loads_run_on_the_kernel_of_a_guest() {
    for lab in [Lab::new(), Lab::of_ordinary_user()].map(|lab| lab.allowing("privileged")) {
        let image = lab.path("vmlinuz-of-a-package");
        fs::create_dir_all(lab.path("root")).expect("allowed");
        fs::copy(kernel(), &image).expect("allowed");
        let experiment = lab.file("alone.toml", &alone(&kernel(), "append = \"init_on_alloc=1\""));
        let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
        let host = &report["hosts"][0];
        assert_eq!((host["name"].as_str(), host["kind"].as_str()), (Some("box"), Some("vm")), "{report}");
        let release = release_of(&kernel());
        let output = report["environment"]["notes"].to_string() + &report["notes"].to_string();
        assert!(output.contains(&release), "the notes name the kernel {release}: {output}");
    }
}

/// A guest whose clock counts instructions, with these boot parameters.
fn counted(kernel: &Path, append: &str) -> String {
    alone(kernel, &format!("clock = \"virtual\"\nappend = \"{append}\""))
        .replace("slices = 2", "slices = 1\nwarm_up = 1")
        .replace("[run]", "[run]\nprobes = false")
}

#[test]
#[ignore = "needs qemu-system-x86 and a kernel; cargo xtask test has both"]
fn counts_of_instructions_repeat_and_a_boot_parameter_that_costs_shows_at_the_first_look() {
    let lab = Lab::new().allowing("privileged,users,files");
    let rate = |append: &str| {
        let experiment = lab.file("counted.toml", &counted(&kernel(), append));
        let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
        let phases = report["trials"][0]["phases"].as_array().expect("it was measured");
        let measured = phases.iter().find(|phase| phase["kind"] == "measure").expect("it was measured");
        measured["figures"]["connections_per_second"].as_f64().expect("a rate")
    };
    let plain = rate("init_on_alloc=0");
    let again = rate("init_on_alloc=0");
    assert_eq!(plain.to_bits(), again.to_bits(), "{plain} connections/s, then {again}");
    let cleared = rate("init_on_alloc=1");
    assert!(
        (0.5..0.995).contains(&(cleared / plain)),
        "{plain} connections/s, and {cleared} where memory is cleared"
    );
}

#[test]
#[ignore = "needs qemu-system-x86, mkfs.ext4 and a kernel; cargo xtask test has all"]
fn single_paths_repeat_exactly_and_the_functions_of_the_guests_kernel_are_named() {
    let lab = Lab::new().allowing("privileged,users,files,machine");
    let text = format!(
        "question = \"How long are two paths?\"\n[hosts.box]\nkernel = \"{}\"\nclock = \"virtual\"\n\
         [volumes.disk]\non = \"box\"\nloop = {{ size = \"16M\", filesystem = \"ext4\" }}\n\
         [loads.faults]\nfrom = \"box\"\nkernel = {{ path = \"page_fault\", operations = 2048 }}\n\
         [loads.filters]\nfrom = \"box\"\nkernel = {{ path = \"filter_rules\", among = 200, operations = 2000 }}\n\
         [loads.syncs]\nfrom = \"box\"\nto = \"disk\"\n\
         storage = {{ reads = 0, block = \"4k\", size = \"64k\", sync_every = 1, sync_by = \"fsync\", operations = 3000, seed = 1 }}\n\
         [[phases]]\nname = \"faults\"\nmeasure = \"faults\"\nslices = 1\n[[phases]]\nname = \"filters\"\nmeasure = \"filters\"\nslices = 1\n\
         [[phases]]\nname = \"syncs\"\nmeasure = \"syncs\"\nslices = 1\n[run]\nprobes = false\nmin_trials = 1\nmax_trials = 1\n",
        kernel().display()
    );
    let experiment = lab.file("paths.toml", &text);
    let rates = || -> Vec<u64> {
        let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
        let phases = report["trials"][0]["phases"].as_array().expect("it was measured");
        let rate =
            |phase: &serde_json::Value| phase["figures"]["requests_per_second"].as_f64().expect("a rate");
        let rates: Vec<f64> = phases.iter().map(rate).collect();
        assert!(rates.len() == 3 && rates.iter().all(|rate| *rate > 0.0), "{rates:?}");
        rates.into_iter().map(f64::to_bits).collect()
    };
    assert_eq!(rates(), rates());
    let mut folded = lab.plimsoll(&["export", "latest", "--format", "folded"]).exits(0);
    for function in ["handle_mm_fault_[k]", "nft_do_chain_[k]", "ext4_sync_file_[k]"] {
        folded = folded.prints(function);
    }
}

#[test]
#[ignore = "needs root, qemu-system-x86 and a kernel; cargo xtask test has all"]
fn a_guest_joins_the_links_of_namespaces() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    let swappiness = || fs::read_to_string("/proc/sys/vm/swappiness").expect("readable");
    let before = swappiness();
    let experiment = lab.file("between.toml", &between(&kernel()));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let phases: Vec<&str> = crate::lab::phases_of(&report["trials"][0]);
    assert!(phases.contains(&"relayed") && phases.contains(&"forwarded"), "{phases:?}");
    assert_eq!(swappiness(), before, "a setting of a guest's kernel is none of this machine's");
}

#[test]
#[ignore = "needs root, qemu-system-x86 and a kernel; cargo xtask test has all"]
fn a_guest_in_real_time_tells_of_its_own_kernel_and_the_cpu_time_of_its_services() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    let experiment =
        lab.file("between.toml", &between(&kernel()).replace("connections = 20", "connections = 300"));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let folded = lab.plimsoll(&["export", "latest", "--format", "folded"]).exits(0).stdout;
    let of_guest: Vec<&str> = folded.lines().filter(|line| line.starts_with("[firewall];")).collect();
    // Of the emulator the machine sees code without names. What a guest does most is in its kernel, whose functions have names.
    assert!(of_guest.iter().any(|line| line.contains("_[k]")), "{folded}");
    assert!(!of_guest.iter().any(|line| line.contains("qemu")), "{folded}");
    assert!(folded.lines().any(|line| line.starts_with("[client];")), "{folded}");
    let phase = report["trials"][0]["phases"].as_array().expect("it was measured")[0].clone();
    assert!(!report["notes"].to_string().contains("no profile"), "{}", report["notes"]);
    // A relayed connection takes a fork of the relay, which takes an emulated guest 0.1 ms at the least.
    let us = phase["figures"]["service_cpu_us_per_request"].as_f64().expect("both services were started");
    assert!((100.0..1e6).contains(&us), "{us}");
}

/// A guest in which nginx of the machine serves what a namespace asks for, and a script of the machine's is a load.
fn with_programs(kernel: &Path, script: &str) -> String {
    let release = release_of(kernel);
    format!(
        "question = \"Do programs of the machine run in a guest?\"\n[hosts.client]\n[hosts.server]\nkernel = \"{}\"\n\
         [[links]]\nbetween = [\"client\", \"server\"]\n[services.web]\non = \"server\"\nnginx = {{ document = \"3k\" }}\nready.within = \"60s\"\n\
         [loads.get]\nfrom = \"client\"\nto = \"web\"\nhttp = {{ connections = 20 }}\n\
         [loads.look]\nfrom = \"server\"\nexec = [\"{script}\", \"{{scratch}}\", \"{release}\"]\nmetrics = {{ right = {{ regex = \"right=([0-9]+)\" }} }}\n\
         [[phases]]\nname = \"served\"\nmeasure = \"get\"\nslices = 2\n[[phases]]\nname = \"looked\"\nmeasure = \"look\"\nslices = 1\n\
         [run]\nmin_trials = 1\nmax_trials = 1\n",
        kernel.display()
    )
}

fn release_of(kernel: &Path) -> String {
    kernel.file_name().expect("a file").to_string_lossy().replace("vmlinuz-", "")
}

/// Counts in bits what is right of it: the kernel, the user, that it sees what lies beside it and may not write there, and that it may write to its
/// scratch folder.
const LOOKS: &str = "#!/bin/sh
here=${0%/*} right=0
[ \"$(uname -r)\" = \"$2\" ] && right=$((right + 1))
[ \"$(id -u)\" = 65534 ] && right=$((right + 2))
grep -q seen \"$here/beside\" && right=$((right + 4))
touch \"$here/beside\" \"$here/new\" 2>/dev/null || right=$((right + 8))
echo kept >\"$1/file\" && grep -q kept \"$1/file\" && right=$((right + 16))
echo right=$right
";

#[test]
#[ignore = "needs root, qemu-system-x86, nginx and a kernel; cargo xtask test has all"]
fn programs_of_the_machine_run_in_a_guest_and_cannot_write_to_its_files() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    lab.file("beside", "seen\n");
    let script = lab.file("look.sh", LOOKS);
    let experiment = lab.file("programs.toml", &with_programs(&kernel(), &script));
    lab.plimsoll(&["check", &experiment])
        .exits(0)
        .prints("all files of this machine, by the guest's kernel")
        .prints("(hosts.server.kernel on server), needs root");
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let phases = report["trials"][0]["phases"].as_array().expect("it was measured");
    let phase = |name: &str| phases.iter().find(|phase| phase["name"] == name).expect("it was measured");
    assert_eq!(phase("served")["connections"], 20, "{}", phase("served"));
    assert_eq!(phase("served")["errors"], serde_json::json!({}), "{}", phase("served"));
    assert_eq!(phase("looked")["figures"]["right"], 31.0, "{}", phase("looked"));
    assert!(!lab.path("new").exists());
}

#[test]
#[ignore = "needs qemu-system-x86, nginx and a kernel; cargo xtask test has all"]
fn a_user_who_is_not_root_cannot_show_a_guest_the_machines_files() {
    let lab = Lab::of_ordinary_user().allowing("privileged,users,files");
    let experiment = lab.file("programs.toml", &with_programs(&kernel(), "/bin/true"));
    lab.plimsoll(&["run", &experiment]).exits(3).says("only root can show it the machine's files");
}

#[test]
#[ignore = "needs root, qemu-system-x86 and a kernel; cargo xtask test has all"]
fn a_report_tells_of_a_guest_what_it_is_and_not_what_this_machine_is() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    let text = with_programs(&kernel(), "/bin/true")
        .replace("nginx = { document = \"3k\" }", "web = {}")
        .replace("kernel = ", "memory = \"384M\"\nappend = \"init_on_alloc=1\"\nkernel = ")
        .replace("[[phases]]\nname = \"looked\"\nmeasure = \"look\"\nslices = 1\n", "");
    let look = text.find("[loads.look]").expect("it is there")..text.find("[[phases]]").expect("it is there");
    let experiment = lab.file("alone.toml", &(text[..look.start].to_owned() + &text[look.end..]));
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    let machines = report["environment"]["machines"].as_array().expect("machines");
    let of = |host: &str| {
        let has = |machine: &&serde_json::Value| machine["hosts"] == serde_json::json!([host]);
        machines.iter().find(has).unwrap_or_else(|| panic!("{host} in {machines:?}"))
    };
    let (here, guest) = (of("client"), of("server"));
    let release = release_of(&kernel());
    assert_eq!(guest["kernel"], release.as_str());
    assert_ne!(here["kernel"], guest["kernel"]);
    // What sha256sum says of the package's own file.
    let config = kernel().with_file_name(format!("config-{release}"));
    let sum = std::process::Command::new("sha256sum").arg(config).output().expect("it is there").stdout;
    let sum = String::from_utf8(sum).expect("text");
    assert_eq!(guest["kernel_config"]["sha256"].as_str(), sum.split(' ').next());
    assert!(guest["command_line"].as_str().is_some_and(|line| line.contains("init_on_alloc=1")), "{guest}");
    assert_eq!(guest["cpus"], 1);
    // Some of it is the kernel's own, and the guest's files come on top.
    let memory = guest["memory_bytes"].as_u64().expect("a number");
    assert!((320 << 20..640 << 20).contains(&memory), "{memory}");
    lab.plimsoll(&["show", "latest", "--details"]).exits(0).prints("machine of server").prints(&release);
}

#[test]
#[ignore = "needs root, qemu-system-x86 and a kernel; cargo xtask test has all"]
fn the_least_memory_holds_a_guest_whatever_the_size_of_this_program() {
    let lab = Lab::of_root().allowing("privileged");
    let text = alone(&kernel(), "memory = \"128M\"");
    lab.plimsoll(&["run", &lab.file("small.toml", &text)]).exits(0);
}

#[test]
#[ignore = "needs root, qemu-system-x86 and a kernel; cargo xtask test has all"]
fn a_clock_that_jumps_in_a_guest_moves_nothing_that_is_measured_there() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    // Years ahead, and then further back than the guest was started.
    let jumps = "during = [\n\
        { at = \"1s\", name = \"ahead\", run = { on = \"box\", privileged = true, command = [\"date\", \"-s\", \"@1900000000\"] } },\n\
        { at = \"3s\", name = \"back\", run = { on = \"box\", privileged = true, command = [\"date\", \"-s\", \"@1000000000\"] } },\n]\n\
        [[phases]]\nname = \"jumped\"\n\
        do = [{ run = { on = \"box\", privileged = true, command = [\"sh\", \"-c\", \"test $(date +%s) -lt 1000100000\"] } }]\n\
        [run]";
    let text = alone(&kernel(), "")
        .replace("connections = 20", "duration = \"5s\", concurrency = 2")
        .replace("slices = 2", "slices = 1")
        .replace("[run]", jumps);
    let report =
        lab.plimsoll(&["run", &lab.file("jumps.toml", &text), "--yes", "--format", "json"]).exits(0).json();
    let number = |value: &serde_json::Value| value.as_f64().unwrap_or_else(|| panic!("{value} in {report}"));
    let work = &report["trials"][0]["phases"][0];
    let lasted = number(&work["end_s"]) - number(&work["start_s"]);
    assert!((5.0..60.0).contains(&lasted), "5 s of load took {lasted} s");
    let slowest_s = number(&work["figures"]["max_ms"]) / 1e3;
    assert!(slowest_s < lasted && number(&work["figures"]["median_ms"]) > 0.0, "{slowest_s} s of {lasted}");
    let (done, rate) = (number(&work["connections"]), number(&work["figures"]["connections_per_second"]));
    assert!(done > 0.0 && (0.5..2.0).contains(&(rate * 5.0 / done)), "{done} in 5 s are {rate} a second");
    assert_eq!(work["errors"].to_string(), "{}", "{work}");
    let sampled_s = number(&report["sampling"]["elapsed_us"]) / 1e6;
    assert!(sampled_s < number(&report["elapsed_s"]), "{sampled_s} s of {}", report["elapsed_s"]);
    let controller_s = number(&report["sampling"]["controller_us"]) / 1e6;
    assert!(
        (0.001..10.0 * sampled_s).contains(&controller_s),
        "{controller_s} s of CPU time in {sampled_s} s"
    );
}

#[test]
#[ignore = "needs root, qemu-system-x86, postfix and a kernel; cargo xtask test has all"]
fn postfix_of_the_machine_delivers_from_a_guest() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    let relay = "postfix = { to = \"sink\", queue_run = \"1s\", retry = \"1s\", retry_most = \"2s\" }\nready.within = \"90s\"";
    let text = through(relay)
        .replace("[hosts.relay]\n", &format!("[hosts.relay]\nkernel = \"{}\"\n", kernel().display()))
        .replace("messages = 200, sessions = 5", "messages = 20, sessions = 2")
        .replace("at_most = \"60s\"", "at_most = \"150s\"");
    let experiment = lab.file("postfix.toml", &text);
    let report = lab.plimsoll(&["run", &experiment, "--format", "json"]).exits(0).json();
    assert_eq!(verdict_of(&report)["outcome"], "delivered");
    assert_eq!(balance(&report)["arrived"], 40);
}

#[test]
#[ignore = "needs qemu-system-x86 and a kernel; cargo xtask test has both"]
fn a_guest_that_does_not_come_up_is_reported_with_the_last_lines_of_its_console() {
    let lab = Lab::new().allowing("privileged,users,files");
    let fails = |name: &str, text: &str, expected: &[&str]| {
        let experiment = lab.file(name, text);
        let run = lab.start(&["run", &experiment]);
        let id = run.id();
        let mut output = run.ends().exits(3);
        for words in expected {
            output = output.says(words);
        }
        assert_eq!(machine::processes_of(id), [] as [u32; 0], "nothing of {name} is left");
    };
    let panics = alone(&kernel(), "append = \"rdinit=/no/such/init\"");
    fails(
        "panics.toml",
        &panics,
        &["its guest did not start: its kernel ended", "Kernel panic - not syncing"],
    );

    // An image that its loader takes for a kernel, and whose first instructions are a loop: jmp $
    let hangs = lab.path("hangs");
    let mut image = fs::read(kernel()).expect("readable");
    let setup = (usize::from(image[0x1f1]) + 1) * 512;
    image[0x268..0x400].fill(0x90);
    for start in [0x200, setup, setup + 0x200] {
        image[start..start + 2].copy_from_slice(&[0xeb, 0xfe]);
    }
    fs::write(&hangs, image).expect("allowed");
    let text = alone(&hangs, "boot_within = \"2s\"");
    fails("hangs.toml", &text, &["its agent did not run within 2 s", "a longer `boot_within`"]);

    // Debian's kernel has virtio in modules, which are not beside a copy of its image.
    let bare = lab.path("bare");
    fs::copy(kernel(), &bare).expect("allowed");
    fails(
        "bare.toml",
        &alone(&bare, ""),
        &["there is no virtio port", "virtio_console, built in or as modules"],
    );

    let none = lab.file("none.toml", &alone(Path::new("/no/such/kernel"), ""));
    lab.plimsoll(&["run", &none]).exits(3).says("kernel /no/such/kernel: No such file");
    let no_qemu = lab.file("no-qemu.toml", &alone(&kernel(), ""));
    let output = lab.script(&format!("PATH=/nowhere \"$PLIMSOLL\" run {no_qemu}")).exits(3);
    output.says("there is no program `qemu-system-x86_64`").says("Debian package `qemu-system-x86`");
}

#[test]
#[ignore = "needs root, qemu-system-x86 and a kernel; cargo xtask test has all"]
fn a_guest_in_which_kvm_gives_up_runs_by_emulation() {
    let lab = Lab::of_root().allowing("privileged,users,files");
    // Runs the probe as if KVM worked, and stops where a kernel is started with it, as QEMU does.
    let qemu = "#!/bin/sh\ncase \"$*\" in\n*isa-debug-exit*) exit 33;;\n\
        *'accel kvm'*) echo 'KVM internal error. Suberror: 1' >&2; exec sleep 600;;\nesac\n\
        PATH=${PATH#*:}\nexec qemu-system-x86_64 \"$@\"\n";
    let bin = lab.path("bin");
    fs::create_dir_all(&bin).expect("allowed");
    lab.file("bin/qemu-system-x86_64", qemu);
    let experiment = lab.file("alone.toml", &alone(&kernel(), ""));
    let bin = bin.display();
    let script = format!("chmod 755 {bin}/*; PATH={bin}:$PATH \"$PLIMSOLL\" run {experiment} --format json");
    let report = lab.script(&script).exits(0).json();
    let notes = report["environment"]["notes"].to_string() + &report["notes"].to_string();
    let fell_back = notes.contains("KVM failed within its guest (KVM internal error. Suberror: 1)");
    assert_eq!(fell_back, fs::File::options().write(true).open("/dev/kvm").is_ok(), "{notes}");
}

#[test]
#[ignore = "needs qemu-system-x86 and a kernel; cargo xtask test has both"]
fn of_a_killed_run_no_guest_is_left() {
    let lab = Lab::new().allowing("privileged,users,files");
    let experiment = lab.file("alone.toml", &alone(&kernel(), ""));
    // While it boots, and while it works.
    for pause in [Duration::from_millis(500), Duration::from_secs(8)] {
        let run = lab.start(&["run", &experiment]);
        let controller = run.id();
        let has_qemu = || {
            let names = machine::processes_of(controller).into_iter();
            names
                .filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/comm")).ok())
                .any(|name| name.starts_with("qemu-system"))
        };
        wait_until("its guest boots", has_qemu);
        thread::sleep(pause);
        run.signal(Signal::SIGKILL);
        let killed = Instant::now();
        run.ends();
        while killed.elapsed() < NOTHING_LEFT_AFTER && !machine::processes_of(controller).is_empty() {
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(machine::processes_of(controller), [] as [u32; 0], "processes are left");
    }
}

#[test]
fn what_a_guest_does_not_have_is_refused_where_it_is_asked_for() {
    let lab = Lab::new().allowing("privileged,users,files");
    let kernel = Path::new("/boot/vmlinuz");
    let nginx = alone(kernel, "clock = \"virtual\"").replace("web = {}", "nginx = {}");
    lab.plimsoll(&["check", &lab.file("nginx.toml", &nginx)])
        .exits(2)
        .says("nginx (services.web.nginx) needs files of this machine")
        .says("its clock counts instructions");
    let volume = alone(kernel, "") + "[volumes.disk]\non = \"box\"\nfolder = {}\n";
    lab.plimsoll(&["check", &lab.file("volume.toml", &volume)])
        .exits(2)
        .says("has none of this machine's disks and folders");
    let capture = alone(kernel, "") + "[capture]\n";
    lab.plimsoll(&["check", &lab.file("capture.toml", &capture)])
        .exits(2)
        .says("packets are not captured on a virtual machine");
}
