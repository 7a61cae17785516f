//! The summary of `siege`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "siege",
    tool: "siege",
    command: "siege -c 25 -t 1M URL",
    measured: &[
        "higher requests_per_second 1/s: `Transaction rate`",
        "higher throughput MiB/s: `Throughput`; its `MB` are 1,048,576 bytes",
        "lower latency,stat s: `Response time`, `Longest transaction`, `Shortest transaction`",
        "higher availability %: `Availability`",
        "plain concurrency: `Concurrency`",
        "plain transactions,result: `Transactions` and, with `result`, those that succeeded or failed",
        "plain transfer MiB: `Data transferred`",
        "plain duration s: `Elapsed time`",
    ],
    main: &["requests_per_second"],
    checked: Checked::Kept("4.0.7"),
    marks: &["server siege", "Transaction"],
    lines: LINES,
    json: Some(Document::whole(
        |json| json.has(&["transaction_rate", "availability", "longest_transaction"]),
        document,
    )),
    ..Format::EMPTY
};

/// The document that version 4 prints.
fn document(json: &Json<'_>, out: &mut Out<'_>) {
    let mut put = |metric, key, unit, labels| out.json(metric, json.get(key), unit, labels);
    put("requests_per_second", "transaction_rate", "1/s", &[]);
    put("throughput", "throughput", "MiB/s", &[]);
    put("latency", "response_time", "s", &[("stat", "mean")]);
    put("latency", "longest_transaction", "s", &[("stat", "max")]);
    put("latency", "shortest_transaction", "s", &[("stat", "min")]);
    put("availability", "availability", "%", &[]);
    put("concurrency", "concurrency", "", &[]);
    put("transactions", "transactions", "", &[]);
    put("transactions", "successful_transactions", "", &[("result", "successful")]);
    put("transactions", "failed_transactions", "", &[("result", "failed")]);
    put("transfer", "data_transferred", "MiB", &[]);
    put("duration", "elapsed_time", "s", &[]);
}

const LINES: &[&str] = &[
    "^Lifting the server siege{...}",
    "Transactions: {transactions} hits",
    "-Availability: {availability %} %",
    "-Elapsed time: {duration s} secs",
    "-Data transferred: {transfer MiB} MB",
    "-Response time: {latency,stat=mean ?}",
    "Transaction rate: {requests_per_second 1/s} trans/sec",
    "-Throughput: {throughput MiB/s} MB/sec",
    "-Concurrency: {concurrency}",
    "-Successful transactions: {transactions,result=successful}",
    "-Failed transactions: {transactions,result=failed}",
    "-Longest transaction: {latency,stat=max s}",
    "-Longest transaction: {latency,stat=max ?}",
    "-Shortest transaction: {latency,stat=min s}",
    "-Shortest transaction: {latency,stat=min ?}",
];
