//! Inventories of folders that look like machines, and of the machine that runs the tests.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use plimsoll_inventory::{DiskLink, Expectation, Inventory, KernelProblem, compare};
use proptest::prelude::*;

fn write(root: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    fs::write(path, text).expect("a file");
}

fn link(root: &Path, path: &str, target: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
    symlink(target, path).expect("a link");
}

/// Two sockets of two cores of two threads; one governor of eight is another.
fn add_cpus(root: &Path) {
    let cpu = |n: u32| {
        format!(
            "processor\t: {n}\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon Gold\ncpu MHz\t\t: 2100.5\nflags\t\t: fpu tsc\n\n"
        )
    };
    write(root, "proc/cpuinfo", (0..8).map(cpu).collect::<String>());
    write(root, "proc/stat", "cpu  100 0 100 700 0 0 0 100 50 0\n");
    write(root, "sys/devices/system/cpu/online", "0-7\n");
    for number in 0..8 {
        let directory = format!("sys/devices/system/cpu/cpu{number}");
        write(root, &format!("{directory}/topology/physical_package_id"), format!("{}\n", number / 4));
        write(root, &format!("{directory}/topology/core_id"), format!("{}\n", number % 4 / 2));
        let governor = if number == 3 { "powersave\n" } else { "performance\n" };
        write(root, &format!("{directory}/cpufreq/scaling_governor"), governor);
        write(root, &format!("{directory}/cpufreq/scaling_cur_freq"), "1000000\n");
        write(root, &format!("{directory}/cpufreq/base_frequency"), "2100000\n");
        write(root, &format!("{directory}/cpufreq/cpuinfo_max_freq"), "3700000\n");
    }
    write(root, "sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n");
    write(root, "sys/devices/system/cpu/vulnerabilities/mds", "Not affected\n");
}

/// A SATA disk on a link that agreed on less than it could, and an NVMe disk on half its lanes.
fn add_disks(root: &Path) {
    let ata = "sys/devices/pci0000:00/0000:00:1f.2/ata1";
    write(root, &format!("{ata}/link1/ata_link/link1/sata_spd"), "3.0 Gbps\n");
    write(root, &format!("{ata}/link1/ata_link/link1/hw_sata_spd_limit"), "6.0 Gbps\n");
    let device = format!("{ata}/host0/target0:0:0/0:0:0:0");
    for (file, text) in [
        ("vendor", "ATA     \n"),
        ("model", "ST4000NM0035\n"),
        ("queue_depth", "32\n"),
        ("rev", "TN03\n"),
        ("ioerr_cnt", "0x1a\n"),
    ] {
        write(root, &format!("{device}/{file}"), text);
    }
    let block = format!("{device}/block/sda");
    for (file, text) in [
        ("size", "7814037168\n"),
        ("queue/rotational", "1\n"),
        ("queue/scheduler", "none [mq-deadline] kyber\n"),
        ("queue/write_cache", "write back\n"),
        ("queue/read_ahead_kb", "128\n"),
    ] {
        write(root, &format!("{block}/{file}"), text);
    }
    link(root, &format!("{block}/device"), "../..");
    link(
        root,
        "sys/block/sda",
        "../devices/pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda",
    );

    let pci = "sys/devices/pci0000:00/0000:01:00.0";
    for (file, text) in [
        ("current_link_speed", "8.0 GT/s PCIe\n"),
        ("max_link_speed", "8.0 GT/s PCIe\n"),
        ("current_link_width", "2\n"),
        ("max_link_width", "4\n"),
        ("nvme/nvme0/model", "Samsung SSD 970                         \n"),
        ("nvme/nvme0/nvme0n1/size", "1000215216\n"),
        ("nvme/nvme0/nvme0n1/queue/scheduler", "[none] mq-deadline\n"),
        ("nvme/nvme0/nvme0n1/queue/rotational", "0\n"),
    ] {
        write(root, &format!("{pci}/{file}"), text);
    }
    link(root, &format!("{pci}/nvme/nvme0/nvme0n1/device"), "../../nvme0");
    link(root, "sys/block/nvme0n1", "../devices/pci0000:00/0000:01:00.0/nvme/nvme0/nvme0n1");
    write(root, "sys/block/loop0/size", "0\n");
}

/// A card of 25 Gbit/s on a bus that carries 16.
fn add_network(root: &Path) {
    let pci = "sys/devices/pci0000:00/0000:02:00.0";
    for (file, text) in [
        ("current_link_speed", "5.0 GT/s PCIe\n"),
        ("max_link_speed", "8.0 GT/s PCIe\n"),
        ("current_link_width", "4\n"),
        ("max_link_width", "8\n"),
        ("net/eth0/speed", "25000\n"),
        ("net/eth0/duplex", "full\n"),
        ("net/eth0/mtu", "9000\n"),
        ("net/eth0/operstate", "up\n"),
        ("net/eth0/queues/rx-0/rps_cpus", "0\n"),
        ("net/eth0/queues/rx-1/rps_cpus", "0\n"),
        ("net/eth0/queues/tx-0/xps_cpus", "0\n"),
    ] {
        write(root, &format!("{pci}/{file}"), text);
    }
    link(root, &format!("{pci}/net/eth0/device"), "../../../0000:02:00.0");
    link(root, &format!("{pci}/driver"), "../../../bus/pci/drivers/ice");
    link(root, "sys/class/net/eth0", "../../devices/pci0000:00/0000:02:00.0/net/eth0");
    write(root, "sys/class/net/lo/speed", "-1\n");
}

fn add_rest(root: &Path) {
    write(root, "etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n");
    write(root, "proc/sys/kernel/osrelease", "6.12.30-amd64\n");
    write(root, "proc/cmdline", "quiet mitigations=off\n");
    write(
        root,
        "proc/meminfo",
        "MemTotal: 25165824 kB\nSwapTotal: 0 kB\nHugePages_Total: 4\nHugepagesize: 2048 kB\n",
    );
    write(root, "proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=2.50 total=99\n");
    for (node, cpus) in [(0, "0-3"), (1, "4-7")] {
        write(
            root,
            &format!("sys/devices/system/node/node{node}/meminfo"),
            format!("Node {node} MemTotal: 12582912 kB\n"),
        );
        write(root, &format!("sys/devices/system/node/node{node}/cpulist"), cpus);
    }
    write(root, "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
    write(root, "sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm\n");
    write(root, "proc/sys/net/core/somaxconn", "128\n");
    write(root, "proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n");
    write(root, "dev/kmsg", "6,1,100,-;Linux version 6.12\n3,2,5000000,-;ata1: hard resetting link\n");
    write(root, "proc/self/cgroup", "0::/work\n");
    write(root, "sys/fs/cgroup/work/cpu.max", "150000 100000\n");
    write(root, "sys/fs/cgroup/work/memory.max", "1073741824\n");
    write(root, "sys/fs/cgroup/work/pids.max", "max\n");
    write(root, "sys/class/dmi/id/sys_vendor", "Dell Inc.\n");
}

fn machine() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a directory");
    add_cpus(root.path());
    add_disks(root.path());
    add_network(root.path());
    add_rest(root.path());
    root
}

#[test]
fn processors_are_counted_by_socket_core_and_thread() {
    let cpus = Inventory::read(machine().path()).cpus;
    assert_eq!((cpus.count, cpus.sockets, cpus.cores, cpus.threads_per_core), (8, Some(2), Some(4), Some(2)));
    assert_eq!(cpus.model.as_deref(), Some("Xeon Gold"));
    assert_eq!(cpus.governor.as_deref(), Some("mixed: performance, powersave"));
    assert_eq!(
        (cpus.current_mhz, cpus.nominal_mhz, cpus.max_mhz),
        (Some(1000.0), Some(2100.0), Some(3700.0))
    );
    assert_eq!(
        cpus.mitigations.into_iter().collect::<Vec<_>>(),
        [("meltdown".to_owned(), "Mitigation: PTI".to_owned())]
    );
    assert_eq!(cpus.stolen, Some(0.1));
}

#[test]
fn a_disk_shows_what_its_link_agreed_on_and_what_it_could() {
    let disks = Inventory::read(machine().path()).disks;
    assert_eq!(disks.keys().collect::<Vec<_>>(), ["nvme0n1", "sda"]);
    let (sata, nvme) = (&disks["sda"], &disks["nvme0n1"]);
    assert_eq!(sata.model.as_deref(), Some("ST4000NM0035"));
    assert_eq!((sata.size, sata.rotational, sata.read_ahead), (4_000_787_030_016, Some(true), Some(131_072)));
    assert_eq!(
        (sata.scheduler.as_deref(), sata.write_cache.as_deref()),
        (Some("mq-deadline"), Some("write back"))
    );
    assert_eq!((sata.queue_depth, sata.firmware.as_deref()), (Some(32), Some("TN03")));
    assert_eq!((sata.health.errors, sata.health.timeouts), (Some(26), None));
    assert_eq!(sata.link, Some(DiskLink { speed: 3000, max_speed: Some(6000) }));
    let pcie = nvme.pcie.as_ref().expect("a link");
    assert_eq!((pcie.width, pcie.max_width, pcie.full), (2, 4, false));
    assert!((pcie.capacity - 15_753.8).abs() < 0.1);
}

#[test]
fn a_card_on_a_bus_that_is_too_slow_for_its_rate_is_found() {
    let networks = Inventory::read(machine().path()).networks;
    let card = &networks["eth0"];
    assert_eq!((card.speed, card.mtu, card.rx_queues, card.tx_queues), (Some(25_000), Some(9000), 2, 1));
    assert_eq!(card.driver.as_deref(), Some("ice"));
    assert_eq!(card.pcie.as_ref().map(|pcie| pcie.capacity), Some(16_000.0));
    assert_eq!(card.bus_suffices, Some(false));
    assert_eq!((networks["lo"].speed, networks["lo"].bus_suffices), (None, None));
}

#[test]
fn memory_kernel_clock_settings_log_and_limits_are_read() {
    let inventory = Inventory::read(machine().path());
    assert_eq!((inventory.memory.size, inventory.memory.pressure), (24 << 30, Some(0.025)));
    assert_eq!((inventory.memory.numa.len(), inventory.memory.numa["1"].cpus), (2, 4));
    assert_eq!((inventory.memory.huge_pages.count, inventory.memory.huge_pages.size), (4, 2 << 20));
    assert_eq!(inventory.os.as_deref(), Some("Debian GNU/Linux 13 (trixie)"));
    assert_eq!(inventory.kernel.release.as_deref(), Some("6.12.30-amd64"));
    assert_eq!((inventory.clock.source.as_deref(), inventory.clock.available.len()), (Some("hpet"), 3));
    assert_eq!(inventory.sysctls.keys().collect::<Vec<_>>(), ["net.core.somaxconn"]);
    assert_eq!(
        inventory.kernel_log.iter().map(|line| line.trouble).collect::<Vec<_>>(),
        [KernelProblem::Reset]
    );
    assert_eq!(inventory.virtualization.hypervisor, Some(false));
    let limits = inventory.cgroup;
    assert_eq!((limits.cpus, limits.memory, limits.tasks), (Some(1.5), Some(1 << 30), None));
}

fn deviations(expected: &str) -> Vec<(String, String, Option<String>)> {
    let expectation = Expectation::parse(expected).unwrap_or_else(|error| panic!("{expected}: {error}"));
    let found = compare(&expectation, &Inventory::read(machine().path()));
    found.into_iter().map(|d| (d.path, d.expected, d.found)).collect()
}

#[test]
fn what_is_as_expected_is_no_deviation() {
    let expected = r#"
        cpus.count = 8
        cpus.stolen = "<= 0.1"
        memory.size = ">= 24G"
        cgroup.memory = "1G"
        memory.numa.*.cpus = 4
        networks.eth0.mtu = "9000"
        clock.source = "!= acpi_pm"
        clock.available = ["tsc", "hpet", "acpi_pm"]
        kernel_log.*.trouble = "!= bug"
        sysctls."net.core.somaxconn".value = "128"
        [disks."*"]
        rotational = "!= maybe"
        [disks.sda]
        rotational = true
    "#;
    assert_eq!(deviations(expected), []);
}

#[test]
fn each_deviation_names_its_path_what_was_expected_and_what_was_found() {
    for (expected, path, wanted, found) in [
        ("cpus.count = 2", "cpus.count", "2", Some("8")),
        ("memory.size = '> 24G'", "memory.size", "> 24G", Some("25769803776")),
        ("disks.*.scheduler = 'none'", "disks.sda.scheduler", "none", Some("mq-deadline")),
        ("disks.*.pcie.width = 2", "disks.sda.pcie.width", "2", None),
        ("disks.sdb.rotational = false", "disks.sdb.rotational", "false", None),
        ("kernel_log.0.trouble = 'io'", "kernel_log.0.trouble", "io", Some("reset")),
        ("clock.available = []", "clock.available", "[]", Some(r#"["tsc","hpet","acpi_pm"]"#)),
        (
            "sysctls.'net.core.somaxconn'.value = '4096'",
            "sysctls.\"net.core.somaxconn\".value",
            "4096",
            Some("128"),
        ),
    ] {
        let expectation = (path.to_owned(), wanted.to_owned(), found.map(str::to_owned));
        assert_eq!(deviations(expected), [expectation], "{expected}");
    }
}

#[test]
fn a_wrong_name_is_an_error_with_its_place_and_the_nearest_right_one() {
    for (text, nearest, place) in [
        ("cpus.cuont = 2", Some("count"), "cuont"),
        ("[memry]\nsize = 1", Some("memory"), "memry"),
        ("disks.*.schedular = 'none'", Some("scheduler"), "schedular"),
        ("cpus.count.most = 2", None, "most"),
        ("kernel_log.first = 1", None, "first"),
        ("memory.size = '>= lots'", None, "'>= lots'"),
        ("cpus.count = 1979-05-27", None, "1979-05-27"),
    ] {
        let error = Expectation::parse(text).expect_err(text);
        assert_eq!(error.nearest.as_deref(), nearest, "{text}");
        assert_eq!(&error.text[error.span.expect("a place")], place, "{text}");
    }
    assert!(Expectation::parse("cpus = = 2").is_err());
    assert!(Expectation::parse("{\"schema\": \"another/1\"}").is_err());
}

#[test]
fn an_earlier_inventory_of_the_same_machine_has_no_deviations_and_of_another_one_all() {
    let root = machine();
    let earlier = Inventory::read(root.path());
    let json = serde_json::to_string(&earlier).expect("JSON");
    let expectation = Expectation::parse(&json).expect("an inventory");
    write(root.path(), "proc/stat", "cpu  100 0 100 700 0 0 0 999 50 0\n");
    assert_eq!(compare(&expectation, &Inventory::read(root.path())), []);
    write(root.path(), "sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    write(root.path(), "proc/sys/net/core/somaxconn", "4096\n");
    write(root.path(), "sys/block/loop0/size", "8\n");
    let found = compare(&expectation, &Inventory::read(root.path()));
    let paths: Vec<_> = found.iter().map(|deviation| deviation.path.as_str()).collect();
    assert_eq!(paths, ["clock.source", "disks.loop0", "sysctls.\"net.core.somaxconn\""]);
    assert_eq!((found[1].expected.as_str(), found[2].found.as_deref()), ("nothing", None));
}

#[test]
fn a_root_with_nothing_in_it_gives_an_inventory_that_says_so() {
    let empty = tempfile::tempdir().expect("a directory");
    let inventory = Inventory::read(empty.path());
    assert_eq!((inventory.cpus.count, inventory.memory.size, inventory.disks.len()), (0, 0, 0));
    let missed: Vec<_> = inventory.absent.iter().map(|absence| absence.file.as_str()).collect();
    for file in ["proc/cpuinfo", "proc/meminfo", "dev/kmsg", "network offloads", "sys/firmware/dmi/entries"] {
        assert!(missed.contains(&file), "{file} in {missed:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_in_any_file_makes_a_reader_panic(text in "[0-9a-z:;,.\\[\\]<> \n/\u{e4}-]{0,80}") {
        let root = machine();
        spoil(root.path(), &text);
        let inventory = Inventory::read(root.path());
        prop_assert_eq!(compare(&Expectation::from(&inventory), &inventory), []);
    }

    #[test]
    fn no_expectation_makes_the_reader_panic(text in "[a-z*.\"'=<>0-9{}\\[\\] \n-]{0,60}") {
        let _ = Expectation::parse(&text);
    }
}

/// Puts a text into every file below a directory.
fn spoil(directory: &Path, text: &str) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            spoil(&entry.path(), text);
        } else if kind.is_file() {
            fs::write(entry.path(), text).expect("a file");
        }
    }
}

#[test]
fn this_machine_is_what_it_was_a_moment_ago() {
    let inventory = Inventory::read(Path::new("/"));
    assert!(inventory.cpus.count >= 1 && inventory.memory.size > 64 << 20);
    assert!(inventory.kernel.release.is_some() && inventory.networks.contains_key("lo"));
    let json = serde_json::to_string(&inventory).expect("JSON");
    assert_eq!(
        serde_json::from_str::<Inventory>(&json).expect("an inventory").cpus.count,
        inventory.cpus.count
    );
    let expected = "cpus.count = '>= 1'\nmemory.size = '> 64M'\nnetworks.lo.mtu = '>= 1500'\n";
    assert_eq!(compare(&Expectation::parse(expected).expect("TOML"), &inventory), []);
}
