//! The tools of this machine: their output is read, and each value equals the one that awk finds in the same text.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use plimsoll_import::figures::{Checked, Part, formats};

use super::read;

/// A call of a tool, a figure of it, and how awk finds the same in its output.
struct Case {
    format: &'static str,
    script: &'static str,
    wanted: &'static str,
    awk: &'static str,
}

const CASES: [Case; 34] = [
    Case {
        format: "ab",
        script: "python3 -m http.server 8943 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; up 8943; \
                 ab -n 100 -c 2 http://127.0.0.1:8943/ 2>/dev/null; kill $server",
        wanted: "requests_per_second",
        awk: "/Requests per second:/ {print $4}",
    },
    Case {
        format: "fio",
        script: "fio --name=a --filename=disk --size=4m --rw=write --output-format=json",
        wanted: "throughput",
        awk: "/\"write\" :/ {w = 1} w && /\"bw_bytes\"/ {gsub(/[^0-9]/, \"\", $3); print $3; exit}",
    },
    Case {
        format: "flent",
        script: "netserver -p 12865 -L 127.0.0.1 -D >/dev/null 2>&1 & server=$!; up 12865; \
                 flent -H 127.0.0.1 -l 2 ping -D . >/dev/null 2>&1; kill $server; gzip -dc ping-*.flent.gz",
        wanted: "value,series=Ping (ms) ICMP",
        awk: "/\"results\":/ {r = 1} r && /\"Ping \\(ms\\) ICMP\": \\[/ {d = 1; next} d && /\\]/ {exit} \
              d {gsub(/[ ,]/, \"\"); if ($0 != \"null\") print}",
    },
    Case {
        format: "google-benchmark",
        script: "printf '%s\\n' '#include <benchmark/benchmark.h>' \
                 'static void spin(benchmark::State& s) { for (auto _ : s) benchmark::DoNotOptimize(s.iterations()); }' \
                 'BENCHMARK(spin);' 'BENCHMARK_MAIN();' >bench.cc; g++ -O1 bench.cc -o bench -lbenchmark -lpthread && \
                 ./bench --benchmark_format=json --benchmark_min_time=0.01 2>/dev/null",
        wanted: "real_time",
        awk: "/\"real_time\"/ {gsub(/,/, \"\", $2); print $2}",
    },
    Case {
        format: "h2load",
        script: "python3 -m http.server --protocol HTTP/1.1 8945 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; up 8945; \
                 h2load --h1 -n 50 -c 2 http://127.0.0.1:8945/; kill $server",
        wanted: "requests_per_second",
        awk: "/^finished in/ {print $4}",
    },
    Case { format: "hackbench", script: "hackbench -g 1 -l 50", wanted: "time", awk: "/^Time:/ {print $2}" },
    Case {
        format: "hdparm",
        script: "truncate -s 64M disk; loop=$(losetup -f --show disk); hdparm -t $loop; losetup -d $loop",
        wanted: "buffered_read",
        awk: "/Timing buffered/ {print $(NF - 1)}",
    },
    Case {
        format: "hey",
        script: "python3 -m http.server 8946 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; up 8946; \
                 hey -n 50 -c 2 http://127.0.0.1:8946/; kill $server",
        wanted: "requests_per_second",
        awk: "/Requests\\/sec/ {print $2}",
    },
    Case {
        format: "hyperfine",
        script: "hyperfine --style basic --runs 3 true 2>/dev/null",
        wanted: "run_time,stat=mean",
        awk: "/Time \\(/ {print $5}",
    },
    Case { format: "iostat", script: "iostat -c", wanted: "%system", awk: "/avg-cpu/ {getline; print $3}" },
    Case {
        format: "iperf3",
        script: "iperf3 -s -1 -p 8941 >/dev/null & up 8941; iperf3 -c 127.0.0.1 -p 8941 -t 1 -f m; wait",
        wanted: "bits_per_second,side=receiver",
        awk: "/receiver/ {print $7}",
    },
    Case {
        format: "iperf3",
        script: "iperf3 -s -1 -p 8942 >/dev/null & up 8942; iperf3 -c 127.0.0.1 -p 8942 -t 1 -J; wait",
        wanted: "bits_per_second,side=receiver",
        awk: "/\"sum_received\"/ {s = 1} s && /\"bits_per_second\"/ {gsub(/,/, \"\", $2); print $2; exit}",
    },
    Case {
        format: "iperf",
        script: "iperf -s -p 8951 >/dev/null 2>&1 & server=$!; up 8951; iperf -c 127.0.0.1 -p 8951 -t 1 -f m; kill $server",
        wanted: "bits_per_second",
        awk: "/Mbits\\/sec/ {print $(NF - 1)}",
    },
    Case {
        format: "mpstat",
        script: "mpstat 1 1",
        wanted: "%sys,cpu=all",
        awk: "$2 == \"all\" && !/Average/ {print $5}",
    },
    Case {
        format: "mtr",
        script: "mtr -r -n -c 2 -i 0.2 -G 1 127.0.0.1",
        wanted: "rtt,stat=mean",
        awk: "/\\|--/ {print $6}",
    },
    Case {
        format: "netperf",
        script: "netserver -p 8952 -L 127.0.0.1 -D >/dev/null 2>&1 & server=$!; up 8952; \
                 netperf -p 8952 -H 127.0.0.1 -l 1 -t TCP_STREAM; kill $server",
        wanted: "bits_per_second",
        awk: "/^ *[0-9]/ {print $5}",
    },
    Case {
        format: "netperf",
        script: "netserver -p 8953 -L 127.0.0.1 -D >/dev/null 2>&1 & server=$!; up 8953; \
                 netperf -p 8953 -H 127.0.0.1 -l 1 -t TCP_CRR; kill $server",
        wanted: "transactions_per_second",
        awk: "/^ *[0-9]/ && NF == 6 {print $6}",
    },
    Case {
        format: "netperf",
        script: "netserver -p 8954 -L 127.0.0.1 -D >/dev/null 2>&1 & server=$!; up 8954; \
                 netperf -p 8954 -H 127.0.0.1 -l 1 -t TCP_RR -- -k THROUGHPUT,THROUGHPUT_UNITS,P99_LATENCY; kill $server",
        wanted: "latency,percentile=99",
        awk: "/^P99_LATENCY=/ {sub(/.*=/, \"\"); print}",
    },
    Case {
        format: "nstat",
        script: "nstat -a -z",
        wanted: "IpInReceives",
        awk: "/^IpInReceives/ {print $2}",
    },
    Case {
        format: "pchar",
        script: "pchar -n -R 1 -I 900 -p ipv4udp 127.0.0.1",
        wanted: "hops",
        awk: "/Path length/ {print $3}",
    },
    Case {
        format: "perf-stat",
        script: "perf stat -j sleep 0.1 2>&1",
        wanted: "task-clock",
        awk: "/task-clock/ {gsub(/[\",]/, \"\", $3); print $3}",
    },
    Case {
        format: "pgbench",
        script: "pg=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1); chown postgres .; \
                 serve() { su postgres -c \"$pg/$*\" >/dev/null 2>&1; }; serve initdb -A trust -D $PWD/pg; \
                 serve pg_ctl -D $PWD/pg -o \"'-p 8947 -k $PWD'\" -w start; \
                 pgbench -h 127.0.0.1 -p 8947 -U postgres -i -q postgres >/dev/null 2>&1; \
                 pgbench -h 127.0.0.1 -p 8947 -U postgres -t 20 postgres 2>/dev/null; serve pg_ctl -D $PWD/pg -m fast stop",
        wanted: "transactions_per_second",
        awk: "/^tps/ {print $3}",
    },
    Case {
        format: "pidstat",
        script: "pidstat -u -p $$ 1 1",
        wanted: "%CPU,stat=mean",
        awk: "$1 == \"Average:\" && $2 != \"UID\" {print $8}",
    },
    // It prints a row at the end of each minute of the clock. Its own goes sixty times as fast here.
    Case {
        format: "postal",
        script: "python3 -W ignore -c 'import smtpd, asyncore\n\
                 class Sink(smtpd.SMTPServer):\n    def process_message(self, *args, **kwargs): pass\n\
                 sink = Sink((\"127.0.0.1\", 8948), None)\nasyncore.loop()' & server=$!; echo user@localhost >users; up 8948; \
                 timeout 4 env LD_PRELOAD=$(ls /usr/lib/*/faketime/libfaketime.so.1) FAKETIME='+0 x60' DONT_FAKE_MONOTONIC=1 \
                 postal -t 1 -r 600 -p 8948 127.0.0.1 users; kill $server",
        wanted: "messages_per_minute",
        awk: "/^[0-9]/ {split($0, cells, \",\"); print cells[2]}",
    },
    Case {
        format: "pytest-benchmark",
        script: "printf '%s\\n' 'def test_sum(benchmark):' '    benchmark.pedantic(sum, args=(range(1000),), rounds=4)' >test_sum.py; \
                 /usr/bin/python3 -m pytest -q -p no:cacheprovider test_sum.py --benchmark-save-data --benchmark-json bench.json \
                 >/dev/null 2>&1; cat bench.json",
        wanted: "time",
        awk: "/\"data\": \\[/ {d = 1; next} d && /\\]/ {exit} d {gsub(/[ ,]/, \"\"); print}",
    },
    Case {
        format: "redis-benchmark",
        script: "redis-server --port 8949 --bind 127.0.0.1 --save '' >/dev/null & server=$!; up 8949; \
                 redis-benchmark -p 8949 -n 2000 -t set --csv; kill $server",
        wanted: "requests_per_second",
        awk: "/^\"SET\"/ {gsub(/\"/, \"\"); split($0, cells, \",\"); print cells[2]}",
    },
    Case {
        format: "sar",
        script: "S_TIME_FORMAT= sar 1 1",
        wanted: "%system,cpu=all",
        awk: "$2 == \"all\" && !/Average/ {print $5}",
    },
    Case {
        format: "ss",
        script: "python3 -c 'import socket, subprocess\n\
                 server = socket.create_server((\"127.0.0.1\", 8950)); client = socket.create_connection((\"127.0.0.1\", 8950))\n\
                 client.send(b\"x\"); subprocess.run([\"ss\", \"-tin\", \"state\", \"established\", \"( dport = :8950 )\"])'",
        wanted: "mss",
        awk: "{for (i = 1; i <= NF; i++) if ($i ~ /^mss:/) {sub(/mss:/, \"\", $i); print $i}}",
    },
    Case {
        format: "sysbench",
        script: "sysbench cpu --time=1 run",
        wanted: "events_per_second",
        awk: "/events per second:/ {print $4}",
    },
    Case {
        format: "sysbench",
        script: "sysbench memory --time=1 run",
        wanted: "throughput",
        awk: "/MiB transferred/ {gsub(/\\(/, \"\", $4); print $4}",
    },
    Case {
        format: "top",
        script: "top -b -n 1 -p 1",
        wanted: "load_average,minutes=1",
        awk: "/load average/ {sub(/.*load average: /, \"\"); split($0, cells, \", \"); print cells[1]}",
    },
    Case { format: "vmstat", script: "vmstat 1 2", wanted: "sy", awk: "NR == 4 {print $14}" },
    Case {
        format: "wrk",
        script: "python3 -m http.server 8944 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; up 8944; \
                 wrk -t 1 -c 2 -d 1 http://127.0.0.1:8944/; kill $server",
        wanted: "requests_per_second",
        awk: "/Requests\\/sec:/ {print $2}",
    },
    Case {
        format: "wrk",
        script: "python3 -m http.server 8955 --bind 127.0.0.1 >/dev/null 2>&1 & server=$!; up 8955; \
                 wrk -t 1 -c 2 -d 1 http://127.0.0.1:8955/; kill $server",
        wanted: "requests",
        awk: "/requests in/ {print $1}",
    },
];

/// Output of tools that other commands read.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "tcpdump",
        "tcpdump -i lo -n -c 4 -l 'udp port 8956' 2>/dev/null & sleep 1; for i in 1 2 3 4; do echo x >/dev/udp/127.0.0.1/8956; done; wait",
    ),
    (
        "perf-script",
        "perf record -q -F 199 -e cpu-clock -o data -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done' >/dev/null 2>&1; \
         perf script -i data 2>/dev/null",
    ),
];

/// Runs a command in a folder, with some text on its standard input. netperf is not installed: it is where `cargo xtask test` unpacks it.
fn run(folder: &Path, words: &[&str], input: &str) -> String {
    let path = std::env::var("PATH").unwrap();
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("netperf/usr/bin");
    let mut child = Command::new(words[0])
        .args(&words[1..])
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("PATH", format!("{}:{path}:/usr/sbin:/sbin", unpacked.display()))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{words:?}: {error}"));
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// Waits until something listens at a port.
const UP: &str =
    r#"up() { for _ in $(seq 200); do [ -n "$(ss -Hltn "sport = :$1")" ] && return; sleep 0.1; done; }; "#;

/// Calls the tool in a folder of its own.
fn output(script: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["bash", "-c", &format!("{UP}{script}")], "")
}

/// Describes how the reading of a tool's output is wrong.
fn wrong(case: &Case) -> Option<String> {
    let Case { format, script, wanted, awk } = *case;
    let output = output(script);
    let expected: Vec<f64> = run(&std::env::temp_dir(), &["awk", awk], &output)
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let found = read(&output);
    let values = found.one(wanted).map(|series| (series.format, series.values()));
    let same = !expected.is_empty()
        && values.as_ref().is_some_and(|(its, values)| *its == format && *values == expected);
    (!same).then(|| format!("{format}, {wanted}: awk finds {expected:?}, read {values:?}, in\n{output}"))
}

/// Number of tools that run at once.
const AT_ONCE: usize = 8;

#[test]
#[ignore = "needs root, and the tools: `cargo xtask test` fetches them"]
fn tools_of_this_machine_are_read_as_awk_reads_them() {
    // They mostly wait.
    let wrong: Vec<String> = CASES
        .chunks(AT_ONCE)
        .flat_map(|some| {
            thread::scope(|scope| {
                let all: Vec<_> = some.iter().map(|case| scope.spawn(|| wrong(case))).collect();
                all.into_iter().filter_map(|one| one.join().unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "needs root, tcpdump and linux-perf"]
fn what_other_commands_read_is_recognised_as_its_tool_writes_it() {
    for (format, script) in ELSEWHERE {
        let output = output(script);
        let found = read(&output);
        let recognised = found.coverage.stretches.iter().any(
            |stretch| matches!(&stretch.part, Part::Elsewhere { format: its_name, .. } if *its_name == format),
        );
        assert!(recognised, "{format}: {:?} of {output}", found.coverage);
    }
}

/// Formats whose tool runs in tests, according to the reference.
#[test]
fn each_tool_that_is_said_to_be_run_is_run() {
    let run: BTreeSet<&str> =
        CASES.iter().map(|case| case.format).chain(ELSEWHERE.iter().map(|(format, _)| *format)).collect();
    let said: BTreeSet<&str> = formats::ALL
        .iter()
        .filter(|format| matches!(format.checked, Checked::Run(_)))
        .map(|format| format.name)
        .collect();
    assert_eq!(run, said);
}
