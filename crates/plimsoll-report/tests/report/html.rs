use std::collections::{BTreeMap, BTreeSet};

use plimsoll_model::observation::TrialRecord;
use plimsoll_model::report::RunReport;
use plimsoll_report::html::bundle::{self, Bundle};
use plimsoll_report::html::{self, Drawn};
use scraper::{Html, Selector};
use serde_json::Value;

use crate::fixture::{self, Fate};

fn written(report: &RunReport, records: &[TrialRecord]) -> String {
    let mut out = Vec::new();
    html::run(&mut out, report, records, &Drawn::default()).unwrap();
    String::from_utf8(out).unwrap()
}

/// The page without Plotly's bundle.
fn own_part(page: &str) -> String {
    let start = page.find("<script type=\"application/gzip\"").expect("the bundle");
    let end = start + page[start..].find("</script>").expect("the bundle's end") + "</script>".len();
    format!("{}{}", &page[..start], &page[end..])
}

fn select<'a>(page: &'a Html, selector: &str) -> Vec<scraper::ElementRef<'a>> {
    page.select(&Selector::parse(selector).unwrap()).collect()
}

fn leaking() -> (RunReport, Vec<TrialRecord>) {
    (fixture::not_recovered(), (1..=3).map(|n| fixture::record(n, Fate::Leaks, 10)).collect())
}

/// The JSON of every chart, by the id of its element.
fn chart_data(page: &Html) -> BTreeMap<String, Value> {
    let scripts = select(page, "script[type='application/json']");
    let data = scripts.iter().map(|s| {
        let id = s.attr("id").expect("data has an id").to_owned();
        (id, serde_json::from_str(&s.text().collect::<String>()).expect("data is JSON"))
    });
    data.collect()
}

#[test]
fn the_page_is_well_formed() {
    let (report, records) = leaking();
    let pages = [
        written(&report, &records),
        written(&fixture::empty(), &[]),
        written(&fixture::interrupted(), &[]),
        written(&fixture::hostile(), &[fixture::hostile_record()]),
    ];
    for page in pages {
        let parsed = Html::parse_document(&own_part(&page));
        assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
        let ids: Vec<_> = select(&parsed, "[id]").iter().map(|e| e.attr("id").unwrap().to_owned()).collect();
        assert_eq!(ids.len(), ids.iter().collect::<BTreeSet<_>>().len(), "an id occurs twice: {ids:?}");
        for link in select(&parsed, "nav a") {
            let anchor = link.attr("href").unwrap().strip_prefix('#').expect("an anchor of this page");
            assert!(ids.iter().any(|id| id == anchor), "nothing at #{anchor}");
        }
    }
}

#[test]
fn the_page_loads_nothing_from_anywhere() {
    let (report, records) = leaking();
    let page = written(&report, &records);
    let own = own_part(&page);
    assert!(
        !own.contains("http://") && !own.contains("https://") && !own.contains("url("),
        "an address in the page"
    );
    let parsed = Html::parse_document(&own);
    assert!(select(&parsed, "[src], link, iframe, object, embed, base, form").is_empty());
    let policy = select(&parsed, "meta[http-equiv='Content-Security-Policy']")[0].attr("content").unwrap();
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
}

#[test]
fn a_page_among_others_names_the_file_that_draws_its_charts_and_nothing_else() {
    let (report, records) = leaking();
    let beside = Drawn { bundle: Bundle::Beside, ..Drawn::default() };
    let page = page(|out| html::run(out, &report, &records, &beside));
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let parsed = Html::parse_document(&page);
    let named: Vec<_> = select(&parsed, "[src]").iter().filter_map(|element| element.attr("src")).collect();
    assert_eq!(named, [bundle::name()]);
    assert!(select(&parsed, "link, iframe, object, embed, base, form").is_empty());
}

#[test]
fn a_server_makes_the_same_page_from_a_run_and_from_its_file() {
    let (report, records) = leaking();
    assert!(!report.causes.is_empty(), "their pages are linked to");
    let above = maud::html! { p { "above" } };
    let drawn = Drawn { bundle: Bundle::Beside, ..Drawn::default() };
    let file = page(|out| html::run(out, &report, &records, &drawn));
    let made = html::served::run(&above, &report, &records, &drawn).into_string();
    let kept = html::served::from_file(&above, &file).map(maud::PreEscaped::into_string);
    assert!(kept.as_ref() == Some(&made), "the file makes another page");
    assert!(made.contains("href=\"/causes/"));
    let other = file.replacen("content=\"plimsoll ", "content=\"plimsoll 0.0.0 ", 1);
    assert!(html::served::from_file(&above, &other).is_none(), "another version's style may not fit");
}

#[test]
fn every_chart_is_there_with_its_data_and_a_text_for_those_who_do_not_see_it() {
    let (report, records) = leaking();
    let parsed = Html::parse_document(&own_part(&written(&report, &records)));
    let data = chart_data(&parsed);
    let charts: Vec<_> = select(&parsed, "figure .chart");
    let names: BTreeSet<_> = charts.iter().map(|c| c.attr("data-figure").unwrap()).collect();
    let expected = [
        "rate-1-data",
        "ratio-by-cycle-1-data",
        "load-over-time-data",
        "cpu-over-time-data",
        "latency-1-data",
    ];
    assert_eq!(names, expected.into());
    for chart in &charts {
        assert!(chart.attr("aria-label").is_some_and(|label| label.len() > 40), "{chart:?}");
        let figure = chart.attr("data-figure").unwrap();
        let ids: Vec<String> = match chart.attr("data-picker") {
            None => vec![figure.into()],
            Some(_) => (1..=3).map(|trial| format!("{figure}-{trial}")).collect(),
        };
        for id in ids {
            let traces = data.get(&id).unwrap_or_else(|| panic!("no data {id}"))["data"].as_array().unwrap();
            assert!(
                traces.iter().any(|t| t["y"].as_array().is_some_and(|y| !y.is_empty())),
                "{id} draws nothing"
            );
        }
    }
    assert!(!select(&parsed, ".verdict .strip .whisker").is_empty(), "the verdict's interval");
    assert!(!select(&parsed, ".verdict .strip .limit").is_empty(), "the verdict's margin");
    assert_eq!(select(&parsed, "#remedies tbody tr").len(), 5, "the flood and four rungs");
    assert_eq!(select(&parsed, "table.bars tbody tr").len(), report.evidence.len());
}

#[test]
fn the_stack_of_cpu_time_adds_up_and_stands_on_the_trials_own_clock() {
    let (report, records) = leaking();
    let parsed = Html::parse_document(&own_part(&written(&report, &records)));
    let plot = &chart_data(&parsed)["cpu-over-time-data-1"];
    let layers = plot["data"].as_array().unwrap();
    let names: Vec<_> = layers.iter().map(|l| l["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["user", "system", "softirq", "iowait", "steal", "idle"]);
    let column = |layer: &Value, i: usize| layer["y"][i].as_f64().unwrap();
    let xs = layers[0]["x"].as_array().unwrap();
    for (i, at) in xs.iter().enumerate() {
        let sum: f64 = layers.iter().map(|l| column(l, i)).sum();
        assert!((sum - 100.0).abs() < 0.5, "{sum} % at {at}");
    }
    let end = records[0].phases.last().unwrap().end_ns as f64 / 1e9;
    assert!(xs[0].as_f64().unwrap().abs() < 1.0, "starts at {}", xs[0]);
    assert!((xs[xs.len() - 1].as_f64().unwrap() - end).abs() < 1.0, "ends at {} of {end}", xs[xs.len() - 1]);
    let names: BTreeSet<_> = plot["layout"]["annotations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| a["text"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "baseline",
            "flood",
            "settle",
            "after",
            "wait longer",
            "restart the service",
            "drop caches",
            "rebuild the host"
        ]
        .into()
    );
}

#[test]
fn the_rate_over_time_of_a_flood_adds_up_to_its_connections() {
    let (report, records) = leaking();
    let parsed = Html::parse_document(&own_part(&written(&report, &records)));
    let plot = &chart_data(&parsed)["load-over-time-data-1"];
    let traces = plot["data"].as_array().unwrap();
    let flooded = traces.iter().find(|trace| trace["name"] == "treatment, driven").unwrap();
    assert_eq!((&flooded["yaxis"], &plot["layout"]["yaxis2"]["overlaying"]), (&"y2".into(), &"y".into()));
    let band = traces.iter().find(|trace| trace["fill"] == "tonexty").unwrap();
    assert_eq!(band["name"], "margin below the baseline");
    let (xs, ys) = (flooded["x"].as_array().unwrap(), flooded["y"].as_array().unwrap());
    let flood = records[0].phases.iter().find(|p| p.name == "flood").unwrap();
    let (start, end) = (flood.start_ns as f64 / 1e9, flood.end_ns as f64 / 1e9);
    let steps = (1..xs.len()).filter_map(|i| {
        let (from, to) = (xs[i - 1].as_f64()?.max(start), xs[i].as_f64()?.min(end));
        (to > from).then_some((to - from) * ys[i - 1].as_f64()?)
    });
    let drawn: f64 = steps.sum();
    let counted: u64 = flood.slices.iter().flat_map(|s| &s.result.intervals).map(|i| i.connections).sum();
    assert!((drawn / counted as f64 - 1.0).abs() < 0.02, "drawn {drawn}, counted {counted}");
}

#[test]
fn a_hostile_name_is_text_wherever_it_stands() {
    let page = written(&fixture::hostile(), &[fixture::hostile_record()]);
    let own = own_part(&page);
    let parsed = Html::parse_document(&own);
    assert!(select(&parsed, "img, [onerror]").is_empty());
    assert_eq!(select(&parsed, "h1")[0].text().collect::<String>(), fixture::HOSTILE);
    for (id, plot) in chart_data(&parsed) {
        let text = plot.to_string();
        assert!(!text.contains("<img") && !text.contains("%{x}&"), "{id}: {text}");
    }
    assert_eq!(own.matches("<script").count(), own.matches("</script>").count());
}

#[test]
fn without_records_the_page_says_what_it_cannot_draw() {
    let page = written(&fixture::recovered(), &[]);
    assert!(page.contains("The raw records of the trials are not at hand"));
    let mut blind = fixture::record(1, Fate::Recovers, 10);
    blind.series.clear();
    assert!(written(&fixture::recovered(), &[blind]).contains("CPU time was not seen"));
}

#[test]
fn a_hundred_trials_sampled_a_hundred_times_a_second_stay_under_ten_megabytes() {
    let records: Vec<_> = (1..=100).map(|n| fixture::record(n, Fate::Leaks, 100)).collect();
    let page = written(&fixture::measured(Fate::Leaks, 100), &records);
    assert!(page.len() < 10_000_000, "{} bytes", page.len());
    assert!(Html::parse_document(&own_part(&page)).errors.is_empty());
}

fn page(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn connections_are_drawn_one_out_of_many_with_their_stalls_marked() {
    let time_sequences = ["sender = steady", "sender = write_write_read"].map(fixture::time_sequence);
    let pages = [
        page(|out| {
            html::run(
                out,
                &fixture::captured(),
                &[],
                &Drawn { time_sequences: &time_sequences, ..Drawn::default() },
            )
        }),
        page(|out| html::trace(out, "a <file>.pcap", &fixture::trace(), &time_sequences)),
    ];
    for page in pages {
        let parsed = Html::parse_document(&own_part(&page));
        assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
        assert_eq!(select(&parsed, "#connection-picker option").len(), 2);
        let data = chart_data(&parsed);
        for chart in ["time-sequence", "throughput", "round-trips"] {
            assert!(
                select(&parsed, &format!("#{chart} .chart"))[0].attr("data-picker")
                    == Some("connection-picker")
            );
            assert!(data.contains_key(&format!("{chart}-data-1")), "{:?}", data.keys());
        }
        let drawing = &data["time-sequence-data-0"];
        let shapes = drawing["layout"]["shapes"].as_array().expect("the stall is shaded");
        assert_eq!((&shapes[0]["x0"], &shapes[0]["x1"]), (&1.0.into(), &1.04.into()));
        let traces = drawing["data"].as_array().expect("traces");
        let stall = traces.iter().find(|trace| trace["name"] == "stall").expect("the stall is marked");
        assert_eq!(stall["y"][0], 1000.0, "where the line runs level");
        let text = stall["hovertext"][0].as_str().expect("a text");
        assert!(
            text.contains("delayed_ack, 40 ms, waiting for the server") && !text.contains("<b>"),
            "{text}"
        );
    }
}

#[test]
fn a_packet_file_without_a_connection_has_a_page_without_charts() {
    let none = plimsoll_model::trace::TraceReport {
        connections: Vec::new(),
        tcp_connections: 0,
        ..fixture::trace()
    };
    let page = page(|out| html::trace(out, "empty", &none, &[]));
    let parsed = Html::parse_document(&own_part(&page));
    assert!(select(&parsed, ".chart").is_empty() && select(&parsed, "#connection-picker").is_empty());
    assert!(page.contains("2 packets that the capture &lt;lost&gt;"));
}

#[test]
fn the_stacks_of_both_sides_are_drawn_as_one_graph_in_which_parts_are_no_more_than_their_whole() {
    let stacks = fixture::stacks();
    let report = fixture::not_recovered();
    assert!(report.profile.is_some());
    let drawn = Drawn { stacks: Some(&stacks), ..Drawn::default() };
    let page = page(|out| html::run(out, &report, &[], &drawn));
    let data = chart_data(&Html::parse_document(&own_part(&page)));
    let trace = &data["stacks-data"]["data"][0];
    assert_eq!(trace["type"], "icicle");
    let list = |name: &str| trace[name].as_array().expect("a list").clone();
    let (ids, parents, values, labels) = (list("ids"), list("parents"), list("values"), list("labels"));
    let value = |n: usize| values[n].as_u64().expect("a count");
    for (n, id) in ids.iter().enumerate() {
        let parts: u64 = (0..ids.len()).filter(|part| parents[*part] == *id).map(value).sum();
        assert!(parts <= value(n), "{labels:?}");
    }
    assert_eq!((&parents[0], value(0)), (&"".into(), 6431));
    let walk = labels.iter().position(|label| label == "fib_rules_lookup").expect("it is drawn");
    assert_eq!(list("text")[walk], "12.6 → 1,717 µs/connection");
    // Small parts are left out, and foreign names are no markup.
    assert!(!labels.contains(&"[cron]".into()));
    assert!(labels.iter().all(|label| !label.as_str().unwrap_or_default().contains("<br>")), "{labels:?}");
}
