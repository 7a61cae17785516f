//! The summary of `rados bench`, and its lines by second.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "rados-bench",
    tool: "rados bench",
    command: "rados bench -p POOL 30 write",
    measured: &[
        "higher throughput,stat,second MiB/s: `Bandwidth (MB/sec)` with its deviation, maximum and minimum, and `cur MB/s` by `second`; 1 MB is 1,048,576 bytes",
        "higher requests_per_second,stat 1/s: `Average IOPS`, `Stddev IOPS`, `Max IOPS`, `Min IOPS`",
        "lower latency,stat s: `Average Latency(s)` with its deviation, maximum and minimum",
        "plain requests,of: `Total writes made`, `Total reads made`",
        "plain size,of B: `Write size`, `Read size`, `Object size`",
        "plain duration s: `Total time run`",
    ],
    main: &["throughput,stat=mean"],
    checked: Checked::Documented("https://docs.ceph.com/en/latest/man/8/rados/"),
    marks: &["Maintaining ", "Bandwidth (MB/sec)", "Total time run", "s made:"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^Maintaining {#} concurrent {...} of {#} bytes {...}",
    "-Object prefix: {...}",
    "-hints = {#}",
    "-sec Cur ops started finished avg MB/s cur MB/s last lat(s) avg lat(s)",
    "-sec Cur ops started finished avg MB/s cur MB/s last lat avg lat",
    "!{_} Cur ops {...}",
    "-{@second#} {#} {#} {#} {#} {throughput MiB/s} {_} {#}",
    "-{...} min lat: {#} max lat: {#} avg lat: {#}",
    "Total time run: {duration s}",
    "Total writes made: {requests,of=write}",
    "Total reads made: {requests,of=read}",
    "-Write size: {size,of=write B}",
    "-Read size: {size,of=read B}",
    "-Object size: {size,of=object B}",
    "Bandwidth (MB/sec): {throughput,stat=mean MiB/s}",
    "-Stddev Bandwidth: {throughput,stat=stddev MiB/s}",
    "-Max bandwidth (MB/sec): {throughput,stat=max MiB/s}",
    "-Min bandwidth (MB/sec): {throughput,stat=min MiB/s}",
    "-Average IOPS: {requests_per_second,stat=mean 1/s}",
    "-Stddev IOPS: {requests_per_second,stat=stddev 1/s}",
    "-Max IOPS: {requests_per_second,stat=max 1/s}",
    "-Min IOPS: {requests_per_second,stat=min 1/s}",
    "-Average Latency(s): {latency,stat=mean s}",
    "-Average Latency: {latency,stat=mean s}",
    "-Stddev Latency(s): {latency,stat=stddev s}",
    "-Stddev Latency: {latency,stat=stddev s}",
    "!Bandwidth ({_}): {#}",
    "!{_} Latency({_}): {#}",
    "-Max latency: {latency,stat=max s}",
    "-Min latency: {latency,stat=min s}",
    "-Max latency(s): {latency,stat=max s}",
    "-Min latency(s): {latency,stat=min s}",
    "-Cleaning up {...}",
    "-Removed {...}",
];
