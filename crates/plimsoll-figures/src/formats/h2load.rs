//! The output of `h2load` (nghttp2).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "h2load",
    tool: "h2load (nghttp2)",
    command: "h2load -n 2000 -c 8 URL",
    measured: &[
        "higher requests_per_second 1/s: `finished in`",
        "higher throughput MiB/s: `finished in`",
        "plain duration s: `finished in`",
        "plain requests,result: `requests`: total, started, done, succeeded, failed, errored, timeout",
        "lower latency,stat ms: `time for request`: min, max, mean, sd (stdev)",
        "lower connect_time,stat ms: `time for connect`",
        "lower first_byte_time,stat ms: `time to 1st byte`",
        "higher client_requests_per_second,stat 1/s: `req/s` of the clients",
    ],
    main: &["requests_per_second"],
    checked: Checked::Run("1.52.0"),
    marks: &["starting benchmark...", "finished in "],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^starting benchmark...",
    "finished in {duration ?}, {requests_per_second 1/s} req/s, {throughput ?}",
    "-requests: {requests,result=total} total, {requests,result=started} started, {requests,result=done} done, {requests,result=succeeded} succeeded, {requests,result=failed} failed, {requests,result=errored} errored, {requests,result=timeout} timeout",
    "-time for request: {latency,stat=min ?} {latency,stat=max ?} {latency,stat=mean ?} {latency,stat=stdev ?} {...}",
    "-time for connect: {connect_time,stat=min ?} {connect_time,stat=max ?} {connect_time,stat=mean ?} {connect_time,stat=stdev ?} {...}",
    "-time to 1st byte: {first_byte_time,stat=min ?} {first_byte_time,stat=max ?} {first_byte_time,stat=mean ?} {first_byte_time,stat=stdev ?} {...}",
    "-req/s : {client_requests_per_second,stat=min 1/s} {client_requests_per_second,stat=max 1/s} {client_requests_per_second,stat=mean 1/s} {client_requests_per_second,stat=stdev 1/s} {...}",
    "-spawning thread{...}",
    "-Application protocol:{...}",
    "-TLS Protocol:{...}",
    "-Cipher:{...}",
    "-Server Temp Key:{...}",
    "-progress:{...}",
    "-status codes:{...}",
    "-traffic:{...}",
    "-min max {...}",
];
