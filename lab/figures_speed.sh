#!/bin/sh
# Reads 100 MB of each text with the program `figures_speed`, three times in turns, and prints for each the median and the range of its MB/s:
#
#     figures_speed.sh FIGURES_SPEED [FOLDER]     # FOLDER has room for 100 MB; /tmp by default
#
# Most texts are samples of the tests, again and again; docs/benchmarks.md has its results.
set -eu
program=$1
text=$(mktemp "${2:-/tmp}/figures_speed.XXXXXX")
speeds=$(mktemp)
trap 'rm -f "$text" "$speeds"' EXIT
cd "$(dirname "$0")/../crates/plimsoll-import/tests/samples"

# 100 MB of what a command prints, again and again.
again() {
    printed=$("$@"; echo .)
    printed=${printed%.}
    while printf %s "$printed"; do :; done 2>/dev/null | head -c 100000000 >"$text"
}
semicolons() {
    echo 'run;rate;latency_ms'
    awk 'BEGIN { for (i = 0; i < 2000; i++) printf "%d;%d,%d;%d,%02d\n", i, 900 + i % 200, i % 10, i % 7, i % 100 }'
}
one_call() {
    head -n 2 vmstat.txt
    for _ in $(seq 300); do tail -n +3 vmstat.txt; done
}
quoted() { sed 's/^/> /' vmstat.txt; }
mail() {
    printf 'From: a\nSubject: figures\n\nBefore it was so:\n\n'
    cat ab.txt vmstat.txt
}
read_it() {
    speed=$("$program" "$text" | sed -n 's/.*}: \([0-9]*\) MB\/s.*/\1/p; s/.*]: \([0-9]*\) MB\/s.*/\1/p' | head -n 1)
    printf '%s\t%s\n' "$1" "$speed" >>"$speeds"
}
for _ in 1 2 3; do
    again cat ../../../../LICENSE && read_it 'prose with nothing in it'
    for sample in hdparm.txt ss.txt ab.txt iostat.txt redis-benchmark.csv tiotest.txt postal.txt sar.txt k6-lines.json pidstat.txt vmstat.txt; do
        again cat "$sample" && read_it "$sample"
    done
    again mail && read_it 'a mail with ab and vmstat, again and again'
    again semicolons && read_it 'CSV with semicolons and decimal commas'
    again quoted && read_it 'vmstat, quoted'
    again one_call && read_it 'vmstat, calls of thousands of lines'
    again seq 1000 2000 && read_it 'bare numbers'
done
sort -t "$(printf '\t')" -k1,1 -k2,2n "$speeds" | awk -F '\t' '
    $1 != name { if (n) print name ": " v[int((n + 1) / 2)] " [" v[1] ", " v[n] "] MB/s"; name = $1; n = 0 }
    { v[++n] = $2 }
    END { print name ": " v[int((n + 1) / 2)] " [" v[1] ", " v[n] "] MB/s" }'
