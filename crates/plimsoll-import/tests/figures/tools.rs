//! The tools themselves, as this machine has them: their output is read, and each value is what awk finds in the same text.

use std::io::Write;
use std::process::{Command, Stdio};

use super::read;

/// A call of a tool, a figure of it, and how awk finds the same in its output.
struct Case {
    script: &'static str,
    wanted: &'static str,
    awk: &'static str,
}

const CASES: [Case; 12] = [
    Case {
        script: "sysbench cpu --time=1 run",
        wanted: "events_per_second",
        awk: "/events per second:/ {print $4}",
    },
    Case {
        script: "fio --name=a --filename=disk --size=4m --rw=write --output-format=json",
        wanted: "throughput",
        awk: "/\"write\" :/ {w = 1} w && /\"bw_bytes\"/ {gsub(/[^0-9]/, \"\", $3); print $3; exit}",
    },
    Case { script: "hackbench -g 1 -l 50", wanted: "time", awk: "/^Time:/ {print $2}" },
    Case {
        script: "hyperfine --style basic --runs 3 true 2>/dev/null",
        wanted: "run_time,stat=mean",
        awk: "/Time \\(/ {print $5}",
    },
    Case {
        script: "iperf3 -s -1 -p 8941 >/dev/null & sleep 0.3; iperf3 -c 127.0.0.1 -p 8941 -t 1 -f m; wait",
        wanted: "bits_per_second,side=receiver",
        awk: "/receiver/ {print $7}",
    },
    Case {
        script: "iperf3 -s -1 -p 8942 >/dev/null & sleep 0.3; iperf3 -c 127.0.0.1 -p 8942 -t 1 -J; wait",
        wanted: "bits_per_second,side=receiver",
        awk: "/\"sum_received\"/ {s = 1} s && /\"bits_per_second\"/ {gsub(/,/, \"\", $2); print $2; exit}",
    },
    Case {
        script: "python3 -m http.server 8943 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; sleep 1; \
                 ab -n 100 -c 2 http://127.0.0.1:8943/ 2>/dev/null; kill $server",
        wanted: "requests_per_second",
        awk: "/Requests per second:/ {print $4}",
    },
    Case {
        script: "python3 -m http.server 8944 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; sleep 1; \
                 wrk -t 1 -c 2 -d 1 http://127.0.0.1:8944/; kill $server",
        wanted: "requests_per_second",
        awk: "/Requests\\/sec:/ {print $2}",
    },
    Case { script: "vmstat 1 2", wanted: "sy", awk: "NR == 4 {print $14}" },
    Case {
        script: "S_TIME_FORMAT= sar 1 1",
        wanted: "%system,cpu=all",
        awk: "$2 == \"all\" && !/Average/ {print $5}",
    },
    Case { script: "mpstat 1 1", wanted: "%sys,cpu=all", awk: "$2 == \"all\" && !/Average/ {print $5}" },
    Case { script: "nstat -a -z", wanted: "IpInReceives", awk: "/^IpInReceives/ {print $2}" },
];

/// Runs a script in a folder, with some text on its standard input.
fn run(folder: &std::path::Path, words: &[&str], input: &str) -> String {
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

#[test]
#[ignore = "needs sysbench, fio, rt-tests, hyperfine, iperf3, apache2-utils, wrk, sysstat, procps, iproute2, python3"]
fn tools_of_this_machine_are_read_as_awk_reads_them() {
    let folder = std::env::temp_dir().join(format!("plimsoll-tools-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for Case { script, wanted, awk } in CASES {
        let output = run(&folder, &["bash", "-c", script], "");
        let expected = run(&folder, &["awk", awk], &output);
        let expected: f64 = expected
            .trim()
            .parse()
            .unwrap_or_else(|_| panic!("{script}: awk finds {expected:?} in {output}"));
        let found = read(&output);
        let series =
            found.one(wanted).unwrap_or_else(|| panic!("{script}: no single `{wanted}` in {output}"));
        assert_eq!(series.values(), [expected], "{script}: {output}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
