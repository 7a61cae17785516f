//! The table of `7z b`.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "7z",
    tool: "7-Zip",
    command: "7z b",
    measured: &[
        "higher rating,of,dictionary MIPS: `Rating` of `compression` and `decompression`: by the size of the dictionary (a power of 2), on average (`Avr`), and of both (`Tot`, without `of`)",
        "higher rating_per_usage,of,dictionary MIPS: `R/U`, the rating at 100 % of one CPU",
        "higher throughput,of,dictionary KiB/s: `Speed`",
        "plain cpu,of,dictionary %: `Usage`; 200 % are two CPUs",
    ],
    main: &["rating"],
    checked: Checked::Kept("26.02"),
    marks: &["7-Zip ", "Tot:"],
    lines: LINES,
    ..Format::EMPTY
};

const LINES: &[&str] = &[
    "^7-Zip {...}Copyright {...}",
    "-p7zip Version {...}",
    "-CPU Freq{...}",
    "-{_} CPU Freq (MHz): {...}",
    "-RAM size: {...}",
    "-RAM usage: {...}",
    "-Avr: {cpu,of=compression %} {rating_per_usage,of=compression MIPS} {rating,of=compression MIPS} \
     {cpu,of=decompression %} {rating_per_usage,of=decompression MIPS} {rating,of=decompression MIPS}",
    "-Compressing | Decompressing",
    "-Dict Compressing | Decompressing",
    "-Dict Speed Usage R/U Rating | Speed Usage R/U Rating",
    "-Speed Usage R/U Rating | Speed Usage R/U Rating",
    "-KiB/s % MIPS MIPS | KiB/s % MIPS MIPS",
    "-KB/s % MIPS MIPS | KB/s % MIPS MIPS",
    "!{_} % {_} {_} | {_} % {_} {_}",
    "-{@dictionary#}: {throughput,of=compression KiB/s} {cpu,of=compression %} {rating_per_usage,of=compression MIPS} \
     {rating,of=compression MIPS} | {throughput,of=decompression KiB/s} {cpu,of=decompression %} \
     {rating_per_usage,of=decompression MIPS} {rating,of=decompression MIPS}",
    "-Avr: {throughput,of=compression KiB/s} {cpu,of=compression %} {rating_per_usage,of=compression MIPS} \
     {rating,of=compression MIPS} | {throughput,of=decompression KiB/s} {cpu,of=decompression %} \
     {rating_per_usage,of=decompression MIPS} {rating,of=decompression MIPS}",
    "-Avr: {cpu,of=compression %} {rating_per_usage,of=compression MIPS} {rating,of=compression MIPS} \
     | {cpu,of=decompression %} {rating_per_usage,of=decompression MIPS} {rating,of=decompression MIPS}",
    "Tot: {cpu %} {rating_per_usage MIPS} {rating MIPS}",
];
