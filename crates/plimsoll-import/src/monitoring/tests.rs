use std::path::Path;

use super::*;

fn of(path: &str, name: Option<&str>, text: &str) -> Vec<Monitored> {
    read(Path::new(path), name, text).unwrap()
}

/// RRDtool 1.7.2 made the file: 81 updates at 300 s, which fall from 1000 by 1. Its own `rrdtool fetch` gave the values below, and a time there is the
/// end of its span.
const DUMP: &str = include_str!("../../tests/data/monitoring/rrdtool-dump.xml");

#[test]
fn a_dump_has_fine_averages_as_far_back_as_they_go_and_hours_of_coarse_ones_before() {
    let found = of("df-var-log/df_complex-free.xml", Some("free./var/log"), DUMP);
    assert_eq!(found.len(), 1);
    let Monitored { name, unit, points } = &found[0];
    assert_eq!((name.as_str(), *unit), ("free./var/log", "bytes"));
    let fine: Vec<(u64, f64)> = (0..4).map(|n| (1_790_025_900 + 300 * n - 1, 923.0 - n as f64)).collect();
    assert_eq!(points[points.len() - 4..], fine);
    // Two hours for each of 1790006400, 1790013600 and 1790020800.
    let coarse: Vec<(u64, f64)> = [(1_790_006_399, 993.5), (1_790_013_599, 975.5), (1_790_020_799, 951.5)]
        .into_iter()
        .flat_map(|(at, value)| [(at - 3600, value), (at, value)])
        .collect();
    assert_eq!(points[..points.len() - 4], coarse);
}

#[test]
fn a_fetched_table_has_a_series_for_each_column_and_leaves_unknown_values_out() {
    let text = "                      shortterm            longterm\n\n\
                1795180500: 1.0847085317e+00 5.0000000000e-01\n1795180800: -nan -1.5000000000e-01\n";
    let found = of("load.txt", None, text);
    let series = |name: &str, points: &[(u64, f64)]| Monitored {
        name: name.to_owned(),
        unit: "",
        points: points.to_vec(),
    };
    let expected = [
        series("load.shortterm", &[(1_795_180_499, 1.084_708_531_7)]),
        series("load.longterm", &[(1_795_180_499, 0.5), (1_795_180_799, -0.15)]),
    ];
    assert_eq!(found, expected);
}

#[test]
fn files_of_collectd_are_named_by_their_paths_and_counters_become_rates() {
    let free = "epoch,value\n1795882843.961,40108675072.000000\n1795882844.943,nan\nepoch,value\n1795882845.943,40106164224.000000\n";
    let found = of("csv/vm/df-var-log/df_complex-free-2026-11-28", None, free);
    let points = vec![(1_795_882_843, 40_108_675_072.0), (1_795_882_845, 40_106_164_224.0)];
    assert_eq!(found, [Monitored { name: "free./var/log".into(), unit: "bytes", points }]);
    assert_eq!(of("df-root/df_complex-free-2026-11-28", None, free)[0].name, "free./");
    let idle = "epoch,value\n1795882843.000,75.000000\n";
    let busy = of("cpu/percent-idle-2026-11-28", None, idle);
    assert_eq!((busy[0].name.as_str(), busy[0].points[0].1), ("cpu.busy", 0.25));
    let line = |n: u64| format!("{},{},{}\n", 1_795_882_840 + 10 * n, 7000 + 50 * n, 3);
    let counted: String = std::iter::once("epoch,rx,tx\n".to_owned()).chain((0..30).map(line)).collect();
    let found = of("interface-eth0/if_octets-2026-11-28", None, &counted);
    assert_eq!(found[0].name, "interface-eth0/if_octets.rx");
    assert_eq!((found[0].points.len(), found[0].points[3].1), (29, 5.0));
    assert_eq!(found[1].points[3].1, 3.0);
}

/// Printed by sysstat 12.6.1, both of one file.
const SADF: &str = "\
# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle
vm;-1;2026-11-28 16:20:40 UTC;LINUX-RESTART (2 CPU)
vm;1;2026-11-28 16:20:41 UTC;-1;96.50;0.00;3.50;0.00;0.00;0.00
vm;1;2026-11-28 16:20:42 UTC;-1;86.02;0.00;3.48;0.00;0.50;10.00
# hostname;interval;timestamp;FILESYSTEM;MBfsfree;MBfsused;%fsused;%ufsused;Ifree;Iused;%Iused
vm;1;2026-11-28 16:20:41 UTC;/dev/vda;203015;55005;21.32;85.17;16040990;736225;4.39
";
const SAR: &str = "\
Linux 6.18.44-fc-v595 (vm) \t11/28/26 \t_x86_64_\t(2 CPU)

23:50:01        CPU     %user     %nice   %system   %iowait    %steal     %idle
23:55:01        all     96.50      0.00      3.50      0.00      0.00      0.00
00:00:01        all     86.02      0.00      3.48      0.00      0.50     10.00
Average:        all     91.26      0.00      3.49      0.00      0.25      5.00

Linux 6.18.44-fc-v595 (vm) \t11/29/26 \t_x86_64_\t(2 CPU)

12:05:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
12:10:01 AM     all     46.50      0.00      3.50      0.00      0.00     50.00

12:05:01 AM kbmemfree   kbavail kbmemused  %memused kbbuffers  kbcached  kbcommit   %commit  kbactive   kbinact   kbdirty
12:10:01 AM   8461128  22796564   1271740      5.15    450348  12913736    734852      2.98   4617996   9819768    290056
";

#[test]
fn what_sysstat_kept_has_the_names_and_units_of_watch() {
    let found = of("sa28.csv", None, SADF);
    let at = 1_795_882_841;
    let cpu = vec![(at, 1.0), (at + 1, 0.9)];
    let free = vec![(at, 203_015.0 * 1_048_576.0)];
    let expected = [
        Monitored { name: "cpu.busy".into(), unit: "share", points: cpu },
        Monitored { name: "free./dev/vda".into(), unit: "bytes", points: free },
    ];
    assert_eq!(found, expected);
    let midnight = 1_795_910_400;
    let found = of("sar.txt", None, SAR);
    assert_eq!(found[0].points, [(midnight - 299, 1.0), (midnight + 1, 0.9), (midnight + 601, 0.5)]);
    assert_eq!(
        (found[1].name.as_str(), &found[1].points[..]),
        ("memory.available", &[(midnight + 601, 22_796_564.0 * 1024.0)][..])
    );
}

#[test]
fn rows_that_claim_to_stand_for_ages_and_impossible_times_are_refused() {
    let each = "<pdp_per_row>1</pdp_per_row>";
    assert!(DUMP.contains(each));
    let of = |ages: &str| {
        let dump = DUMP.replace(each, &format!("<pdp_per_row>{ages}</pdp_per_row>"));
        read(Path::new("x"), None, &dump).map(|found| found[0].points.len())
    };
    assert_eq!(of("1000000000000"), Err(MonitoringError::TooMany));
    // Beyond 64 bits such an archive is left out: six hours of the coarse one are left.
    assert_eq!(of("18446744073709551615"), Ok(6));
    let sadf = SADF.replace("16:20:41", "99999999999999999999:20:41");
    assert!(matches!(read(Path::new("x"), None, &sadf), Err(MonitoringError::Line { line: 3, .. })));
}

#[test]
fn other_text_is_refused_with_the_formats_that_there_are() {
    for text in ["", "hello\n", "one two\nthree four\n", "GET / HTTP/1.1\nHost: a\n"] {
        assert_eq!(read(Path::new("x"), None, text), Err(MonitoringError::Unknown), "{text:?}");
    }
    assert_eq!(read(Path::new("x"), None, "epoch,value\n"), Err(MonitoringError::Empty));
    let wrong = read(Path::new("x"), None, "epoch,value\n1795882843,1\nyesterday,2\n");
    assert!(matches!(wrong, Err(MonitoringError::Line { line: 3, .. })), "{wrong:?}");
}
