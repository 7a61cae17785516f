//! Parts of a tool's output that its usual samples lack: figures with a label or a unit of their own, and figures of nothing.

use plimsoll_import::figures;

use super::{read, value};

/// A text, and figures that are in it.
type Case = (&'static str, &'static [(&'static str, f64, &'static str)]);

const CASES: &[Case] = &[
    (
        "Requests      [total, rate]             30, 10.00\n\
         Latencies     [mean, 50, 95, 99, max]   4ms, 3ms, 7ms, 8ms, 9ms\n\
         \n\
         GET http://a.example/one\n\
         Requests      [total, rate]             20, 7.00\n\
         Latencies     [mean, 50, 95, 99, max]   5ms, 4ms, 6ms, 8ms, 9ms\n",
        &[
            ("requests", 30.0, ""),
            ("requests,target=GET http://a.example/one", 20.0, ""),
            ("latency,stat=mean,target=GET http://a.example/one", 5.0, "ms"),
        ],
    ),
    (
        "Wakeup Latencies percentiles (usec) runtime 10 (s) (400 total samples)\n\
         \t* 99.0th: 33         (40 samples)\n\
         \t  min=2, max=90\n\
         RPS percentiles (requests) runtime 10 (s) (11 total samples)\n\
         \t* 50.0th: 8120       (3 samples)\n\
         \t  min=7900, max=8300\n\
         average rps: 8111.50\n",
        &[
            ("latency,of=wakeup,percentile=99.0", 33.0, "us"),
            ("latency,of=wakeup,stat=max", 90.0, "us"),
            ("requests_per_second,percentile=50.0", 8120.0, "1/s"),
            ("requests_per_second,stat=min", 7900.0, "1/s"),
            ("requests_per_second,stat=mean", 8111.5, "1/s"),
        ],
    ),
    (
        "/dev/sdb:\n Timing O_DIRECT cached reads:   400 MB in  2.00 seconds = 200.00 MB/sec\n \
         Timing O_DIRECT disk reads: 300 MB in  3.00 seconds = 100.00 MB/sec\n",
        &[
            ("direct_cached_read,device=/dev/sdb", 200.0, "MiB/s"),
            ("direct_read,device=/dev/sdb", 100.0, "MiB/s"),
        ],
    ),
    (
        "Summary:\n  Total:\t2.5 secs\n  Slowest:\t0.9 secs\n  Fastest:\t0.1 secs\n  Average:\t0.2 secs\n  \
         Requests/sec:\t400.5\n\nDetails (average, fastest, slowest):\n  \
         DNS+dialup:\t0.001 secs, 0.0005 secs, 0.02 secs\n  resp wait:\t0.15 secs, 0.05 secs, 0.8 secs\n",
        &[
            ("phase_latency,phase=DNS+dialup,stat=max", 0.02, "s"),
            ("phase_latency,phase=resp wait,stat=mean", 0.15, "s"),
        ],
    ),
    (
        "Benchmark              Time             CPU   Iterations UserCounters...\n\
         Sum/8                 12 ns           11 ns     64000000 Rate of sums=81.5M/s cells=1.5k\n",
        &[
            ("real_time,benchmark=Sum/8", 12.0, "ns"),
            ("counter,benchmark=Sum/8,counter=Rate of sums", 81.5e6, "1/s"),
            ("counter,benchmark=Sum/8,counter=cells", 1500.0, ""),
        ],
    ),
    (
        "        │   old.txt   │              new.txt               │\n        \
         │   sec/op    │   sec/op     vs base               │\n\
         Sort-8    2.000m ± 1%   1.500m ± 2%  -25.00% (p=0.000 n=10)\n\
         geomean   3.100m        2.300m       -25.80%\n",
        &[
            ("geomean,of=sec/op,side=before", 3.1, "ms"),
            ("geomean,of=sec/op,side=after", 2.3, "ms"),
            ("change,benchmark=geomean,of=sec/op", -25.8, "%"),
        ],
    ),
    (
        "------------------------- benchmark: 1 tests -------------------------\n\
         Name (time in us)     Min              Max      Mean   StdDev   Median   IQR   Outliers   OPS (Kops/s)   Rounds   Iterations\n\
         test_it [a b]     10.5000 (1.0)   1,020.7500   11.25    0.5     11.0     0.25    3;12     88.8889          100      5\n",
        &[
            ("summary_time,benchmark=test_it [a b],stat=min", 10.5, "us"),
            ("summary_time,benchmark=test_it [a b],stat=max", 1020.75, "us"),
            ("summary_time,benchmark=test_it [a b],stat=mean", 11.25, "us"),
        ],
    ),
    (
        "16+0 Datensätze ein\n16+0 Datensätze aus\n16777216 Bytes (17 MB, 16 MiB) kopiert, 0,0125 s, 1,3 GB/s\n",
        &[("transfer", 16_777_216.0, "B"), ("duration", 0.0125, "s"), ("throughput", 1.3, "GB/s")],
    ),
];

#[test]
fn details_are_read_with_their_labels_and_units() {
    for (text, expected) in CASES {
        let found = read(text);
        for (name, number, unit) in *expected {
            assert_eq!(value(&found, name), (*number, *unit), "{text}");
        }
    }
}

#[test]
fn figures_of_nothing_are_refused() {
    let wrk = "Running 5s test @ http://a.example/\n  1 threads and 1 connections\n  \
               Thread Stats   Avg      Stdev     Max   +/- Stdev\n    Latency     0.00us    0.00us   0.00us    -nan%\n    \
               Req/Sec     0.00      0.00     0.00      -nan%\n  Latency Distribution\n     50%    0.00us\n  \
               0 requests in 5.00s, 0.00B read\nRequests/sec:      0.00\nTransfer/sec:       0.00B\n";
    let ycsb = "[OVERALL], RunTime(ms), 900\n[OVERALL], Throughput(ops/sec), 1111.1\n[UPDATE], Operations, 0\n\
                [UPDATE], AverageLatency(us), NaN\n[UPDATE], MinLatency(us), 9223372036854775807\n\
                [UPDATE], MaxLatency(us), 0\n[READ], Operations, 1000\n[READ], MinLatency(us), 90\n";
    for (text, kept) in [(wrk, ""), (ycsb, "latency,operation=READ,stat=min")] {
        let found = read(text);
        let latencies = found.series.iter().filter(|series| series.metric == "latency");
        let names: Vec<String> = latencies.map(figures::Series::name).collect();
        assert_eq!(names.join(" "), kept);
    }
}
