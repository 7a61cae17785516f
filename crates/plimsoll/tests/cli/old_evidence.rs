//! Output of vmstat 4.0 and sar 12.6 on a machine with two CPUs, before and after the start of two `dd if=/dev/zero of=/dev/null bs=1`.

use super::lab::Lab;

fn saved(name: &str) -> String {
    format!("{}/tests/cli/saved/{name}.txt", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn old_tables_show_that_the_kernel_used_the_cpus_up() {
    let lab = Lab::new();
    for program in ["vmstat", "sar"] {
        let (before, after) = (saved(&format!("{program}-before")), saved(&format!("{program}-after")));
        let sides = ["explain", "--before", &before, "--after", &after];
        lab.plimsoll(&sides)
            .exits(0)
            .prints("cpu.kernel_saturated")
            .prints("Without --rate-before and --rate-after")
            .prints("were not measured in turns");
        let rates = ["--rate-before", "220", "--rate-after", "50", "--format", "json"];
        let document = lab.plimsoll(&[&sides[..], &rates[..]].concat()).exits(0).json();
        assert_eq!(document["causes"][0]["id"], "cpu.kernel_saturated", "{document}");
        assert_eq!(document["causes"][0]["evidence"][0]["unit"], "µs/operation", "{document}");
        // The other way round nothing is used up.
        lab.plimsoll(&["explain", "--before", &after, "--after", &before])
            .exits(0)
            .prints("No known cause fits");
        lab.plimsoll(&["explain", "--before", &before, "--after", &before])
            .exits(0)
            .prints("Nothing changed beyond chance.");
    }
}

#[test]
fn files_that_do_not_go_together_or_cannot_be_read_are_named() {
    let lab = Lab::new();
    let (vmstat, sar) = (saved("vmstat-before"), saved("sar-after"));
    lab.plimsoll(&["explain", "--before", &vmstat, "--after", &sar])
        .exits(2)
        .prints_nothing()
        .says("nothing in common: before is of vmstat, after of sar");
    let other = lab.file("other.txt", "nothing of the kind\n");
    lab.plimsoll(&["explain", "--before", &other, "--after", &sar])
        .exits(2)
        .says("none of: the output of `vmstat N`");
    let text = std::fs::read_to_string(&vmstat).expect("it is there");
    let cut = lab.file("cut.txt", &text[..text.len() - 30]);
    lab.plimsoll(&["explain", "--before", &cut, "--after", &vmstat]).exits(2).says("line 10: ");
    lab.plimsoll(&["explain", "--before", &vmstat]).exits(2).says("--after");
    lab.plimsoll(&[
        "explain",
        "--before",
        &vmstat,
        "--after",
        &vmstat,
        "--rate-before",
        "0",
        "--rate-after",
        "1",
    ])
    .exits(2)
    .says("above 0");
}

/// Output of `netstat -s`: connections, overflows and retransmitted SYNs.
fn mail(connections: u32, overflows: u32) -> String {
    format!(
        "Hi,\n$ netstat -s\nTcp:\n    {connections} active connection openings\n    {connections} passive connection openings\n    \
         {} segments received\nTcpExt:\n    {overflows} times the listen queue of a socket overflowed\n    \
         TCPTimeouts: {overflows}\n",
        connections * 10
    )
}

#[test]
fn two_posted_mails_name_the_cause_per_connection() {
    let lab = Lab::new();
    let (before, after) = (lab.file("before.txt", &mail(5000, 0)), lab.file("after.txt", &mail(9000, 3000)));
    let document = lab.plimsoll(&["explain", &before, &after, "--format", "json"]).exits(0).json();
    assert_eq!(document["causes"][0]["id"], "net.listen_overflow", "{document}");
    // 3000 overflows in the 8000 connections between the two readings.
    assert_eq!(document["causes"][0]["evidence"][0]["after"], 0.375, "{document}");
    assert_eq!(document["causes"][0]["evidence"][0]["before"], 0.0, "{document}");
    lab.plimsoll(&["explain", &before, &after])
        .exits(0)
        .prints("since the machine was started")
        .prints("Unread lines");
    lab.plimsoll(&["explain", &before, &before])
        .exits(0)
        .prints("Nothing changed beyond chance.")
        .prints("nstat -az");
    lab.plimsoll(&["explain", &before, "latest"]).exits(2).says("there is no run and no baseline `latest`");
}
