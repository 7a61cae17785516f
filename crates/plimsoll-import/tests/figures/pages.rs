//! Pages as people post them: tools' output in prose, quoted, several tools one after another.

use super::{read, text, value, values};

#[test]
fn a_report_of_a_flooded_firewall_has_its_rates_and_both_pages_of_vmstat() {
    let found = read(&text("pages", "floods-2001.txt"));
    assert_eq!(values(&found, "requests_per_second"), [219.43, 48.12]);
    let kernel = found.one("sy").unwrap();
    let of_run = |run| -> Vec<f64> {
        kernel.points.iter().filter(|point| point.run == run).map(|point| point.value).collect()
    };
    assert_eq!(of_run(1), [9.0, 11.0, 10.0, 12.0]);
    assert_eq!(of_run(2), [61.0, 65.0, 63.0, 66.0]);
    assert!(found.coverage.skipped > 5, "prose is reported as skipped");
}

#[test]
fn eleven_figures_of_hdparm_are_one_series() {
    let found = read(&text("pages", "hdparm-eleven.txt"));
    let reads = values(&found, "buffered_read");
    assert_eq!(reads.len(), 11);
    assert_eq!((reads[0], reads[10]), (27.83, 28.07));
    assert_eq!(values(&read(&text("pages", "hdparm-bare.txt")), "value").len(), 11);
}

#[test]
fn minutes_of_postal_before_and_after_are_two_runs() {
    let found = read(&text("pages", "postal-minutes.txt"));
    let minutes = found.one("messages_per_minute").unwrap();
    let runs: Vec<u32> = minutes.points.iter().map(|point| point.run).collect();
    assert_eq!(runs, [1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
    assert_eq!(minutes.values()[..2], [1043.0, 1061.0]);
}

#[test]
fn the_hops_of_pathchar_have_their_rates_and_what_cannot_be_measured_is_left_out() {
    let found = read(&text("pages", "pathchar-hops.txt"));
    assert_eq!(value(&found, "bits_per_second,hop=2"), (1.4, "Mbit/s"));
    assert_eq!(value(&found, "latency,hop=2"), (6.1, "ms"));
    assert_eq!(value(&found, "queue,hop=2"), (3.32, "ms"));
    assert!(found.one("bits_per_second,hop=3").is_none());
    assert_eq!(value(&found, "loss,hop=3"), (1.0, "%"));
    assert_eq!(value(&found, "bottleneck"), (1.4, "Mbit/s"));
}

#[test]
fn a_hop_without_an_answer_is_a_hop_of_its_own() {
    let found = read(
        "pathchar to 10.9.9.9 (10.9.9.9)\n 0 localhost\n |   9.1 Mb/s,   290 us (1.90 ms)\n 1 * * *\n |   450 Kb/s,   4.2 ms (37.0 ms)\n",
    );
    assert_eq!(value(&found, "bits_per_second,hop=0"), (9.1, "Mbit/s"));
    assert_eq!(value(&found, "bits_per_second,hop=1"), (450.0, "kbit/s"));
}

#[test]
fn the_first_row_of_an_excerpt_of_vmstat_is_one_of_many() {
    let heading = "   procs                      memory    swap          io     system         cpu\n \
                   r  b  w   swpd   free   buff  cache  si  so    bi    bo   in    cs  us  sy  id\n";
    let excerpt = " 1  0  0      0 314100  65264  31224   0   0     0     0 4101  2710   8   9  83\n \
                   1  0  0      0 314092  65264  31224   0   0     0    12 4230  2698   9  11  80\n";
    let of = |before: &str| {
        let found = read(&format!("{before}{heading}{excerpt}"));
        found.one("in,since=boot").is_some()
    };
    assert!(!of("While it is under load:\n\n"));
    assert!(of("") && of("$ vmstat 1 2\n"));
    let whole = " 0  0  0      0 314164  65264  31224   0   0     1     2   10     8   1   2  97\n";
    let found = read(&format!("And vmstat says\n\n{heading}{whole}{excerpt}"));
    assert_eq!(value(&found, "in,since=boot"), (10.0, "1/s"));
}

#[test]
fn the_verdict_of_npad_has_its_goal_and_what_failed() {
    let found = read(&text("pages", "npad-verdict.txt"));
    assert_eq!(value(&found, "target_rate"), (4.0, "Mbit/s"));
    assert_eq!(value(&found, "rate,verdict=Pass"), (4.781, "Mbit/s"));
    assert_eq!(value(&found, "loss,verdict=Fail"), (0.0253, "%"));
    assert_eq!(value(&found, "loss_budget"), (0.0103, "%"));
    assert_eq!(value(&found, "loss_interval,verdict=Fail"), (3950.0, "packets"));
    assert_eq!(value(&found, "loss_interval_budget"), (9730.0, "packets"));
    assert_eq!(value(&found, "window_scale,of=received"), (0.0, ""));
    assert_eq!(value(&found, "window_scale,of=needed"), (2.0, ""));
}

#[test]
fn iperf_over_a_wan_has_both_runs_and_separates_intervals_from_the_whole() {
    let found = read(&text("pages", "iperf-wan.txt"));
    assert_eq!(values(&found, "bits_per_second"), [2.80, 85.6]);
    assert_eq!(values(&found, "interval_bits_per_second"), [2.83, 2.85]);
}

#[test]
fn tables_of_tiotest_in_a_quoted_mail_are_two_runs() {
    let found = read(&text("pages", "tiotest-tables.txt"));
    assert_eq!(values(&found, "throughput,operation=write"), [4.762, 7.843]);
    assert_eq!(values(&found, "throughput,operation=random read"), [0.424, 0.519]);
}

/// Found by fuzzing: the first figure of a half line was passed on, and the line was reported as unread.
#[test]
fn a_line_is_read_or_not_and_its_figures_with_it() {
    let found = read(
        "Benchmark 1: sleep 1\n  Time (mean ± σ):     18.9 ms ±   2.5 ms\n  Range (min … max):     13.2 ms …  ?\n",
    );
    let figures: usize = found.series.iter().map(|series| series.points.len()).sum();
    assert_eq!((found.coverage.figures, figures, found.coverage.skipped), (2, 2, 1));
}

#[test]
fn two_values_of_a_mail_keep_their_line() {
    let text = "Hi,\n\n> Requests per second:    219.43 [#/sec] (mean)\n\nand now\n\n> Requests per second:    48,12 [#/sec] (mean)\n";
    let found = read(text);
    let rate = found.one("requests_per_second").unwrap();
    let lines: Vec<u64> = rate.points.iter().map(|point| point.line).collect();
    assert_eq!((rate.values(), lines), (vec![219.43, 48.12], vec![3, 7]));
    assert_eq!(found.coverage.skipped, 2);
    assert_eq!(value(&read("Requests per second: 5 [#/sec]"), "requests_per_second"), (5.0, "1/s"));
}
