#!/bin/bash
# Makes the samples of this folder with the real tools, on loopback and on a file of its own: ./make.sh FOLDER.
# Needs the Debian packages that each line names. `commands.tsv` has, for each sample, the version of the tool and its command.
set -u
folder=$(realpath "${1:?the folder for the samples}")
scratch=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export LC_ALL=C S_TIME_FORMAT=

# keep NAME VERSION COMMAND: the standard output and error of a command, under that name.
keep() {
    local name=$1 version=$2
    shift 2
    echo "$name: $*"
    # The kernel's release and the folder are of no interest.
    timeout 130 bash -c "$*" 2>&1 | sed "s|$(uname -r)|$(uname -r | cut -d- -f1)|; s|$scratch|/tmp|g" >"$folder/$name"
    printf '%s\t%s\t%s\n' "$name" "$version" "$*" >>"$folder/commands.tsv"
}
version() { "$@" 2>&1 | head -n 1 | tr -d '\r' | cut -c 1-60; }

: >"$folder/commands.tsv"
head -c 4096 /dev/urandom | base64 >page.html
python3 -m http.server 8931 --bind 127.0.0.1 >/dev/null 2>&1 &
# apache2-utils, wrk, hey, nghttp2-client; nginx-light
cat >nginx.conf <<NGINX
pid $scratch/nginx.pid; error_log stderr crit; events { worker_connections 512; } daemon off; worker_processes 1;
http { access_log off; server { listen 127.0.0.1:8930; root $scratch; } }
NGINX
chmod 755 "$scratch"
nginx -p "$scratch" -c "$scratch/nginx.conf" 2>/dev/null &
# iperf, iperf3, redis-server, postgresql-15
iperf -s -p 8932 >/dev/null 2>&1 &
iperf -s -u -p 8932 >/dev/null 2>&1 &
iperf3 -s -p 8933 >/dev/null 2>&1 &
redis-server --port 8934 --bind 127.0.0.1 --save "" >/dev/null 2>&1 &
sleep 1
keep ab.txt "$(version ab -V)" ab -n 2000 -c 8 http://127.0.0.1:8930/page.html
keep ab-failed.txt "$(version ab -V)" ab -n 200 -c 8 http://127.0.0.1:8930/none.html
keep wrk.txt "$(version wrk -v)" wrk -t 2 -c 8 -d 2 --latency http://127.0.0.1:8930/page.html
keep wrk-plain.txt "$(version wrk -v)" wrk -t 1 -c 4 -d 1 http://127.0.0.1:8930/none.html
keep hey.txt "hey $(dpkg-query -W -f '${Version}' hey)" hey -n 2000 -c 8 http://127.0.0.1:8930/page.html
keep h2load.txt "$(version h2load --version)" h2load --h1 -n 2000 -c 8 http://127.0.0.1:8930/page.html
keep iperf2.txt "$(version iperf -v)" iperf -c 127.0.0.1 -p 8932 -t 3 -i 1
keep iperf2-parallel.txt "$(version iperf -v)" iperf -c 127.0.0.1 -p 8932 -t 2 -P 2
keep iperf2-udp.txt "$(version iperf -v)" iperf -u -c 127.0.0.1 -p 8932 -t 2 -i 1 -b 10M
keep iperf3.txt "$(version iperf3 -v)" iperf3 -c 127.0.0.1 -p 8933 -t 3 -i 1
keep iperf3-parallel.txt "$(version iperf3 -v)" iperf3 -c 127.0.0.1 -p 8933 -t 2 -P 2 --forceflush
keep iperf3-udp.txt "$(version iperf3 -v)" iperf3 -c 127.0.0.1 -p 8933 -t 2 -u -b 10M
keep iperf3.json "$(version iperf3 -v)" iperf3 -c 127.0.0.1 -p 8933 -t 2 -J
keep iperf3-udp.json "$(version iperf3 -v)" iperf3 -c 127.0.0.1 -p 8933 -t 2 -u -b 10M -J
keep redis-benchmark.txt "$(version redis-benchmark --version)" redis-benchmark -p 8934 -n 20000 -t set,get
keep redis-benchmark-quiet.txt "$(version redis-benchmark --version)" redis-benchmark -p 8934 -n 20000 -t set,get,lpush -q
keep redis-benchmark.csv "$(version redis-benchmark --version)" redis-benchmark -p 8934 -n 20000 -t set,get --csv
# fio, sysbench, hdparm
head -c 67108864 /dev/zero >disk
keep fio.json "$(version fio --version)" fio --name=mixed --filename=$scratch/disk --size=64m --rw=randrw --bs=4k --runtime=2 --time_based --ioengine=psync --output-format=json
keep sysbench-cpu.txt "$(version sysbench --version)" sysbench cpu --time=2 --threads=2 --report-interval=1 run
keep sysbench-memory.txt "$(version sysbench --version)" sysbench memory --time=1 run
keep sysbench-threads.txt "$(version sysbench --version)" sysbench threads --time=1 --threads=4 run
keep sysbench-fileio.txt "$(version sysbench --version)" "sysbench fileio --file-total-size=16M --file-num=4 prepare >/dev/null && sysbench fileio --file-total-size=16M --file-num=4 --file-test-mode=rndrw --time=1 run"
loop=$(losetup -f --show disk) && {
    keep hdparm.txt "$(version hdparm -V)" hdparm -tT $loop $loop
    losetup -d "$loop"
}
# postgresql-15
pg=/usr/lib/postgresql/15/bin
mkdir pg && chown postgres pg && su postgres -c "$pg/initdb -D $scratch/pg -A trust >/dev/null && $pg/pg_ctl -D $scratch/pg -o '-p 8935 -k $scratch/pg' -l $scratch/pg/log start >/dev/null" && {
    su postgres -c "$pg/pgbench -h 127.0.0.1 -p 8935 -i -q postgres" >/dev/null 2>&1
    keep pgbench.txt "$(version $pg/pgbench --version)" $pg/pgbench -h 127.0.0.1 -p 8935 -U postgres -c 4 -T 3 -P 1 postgres
    keep pgbench-reports.txt "$(version $pg/pgbench --version)" $pg/pgbench -h 127.0.0.1 -p 8935 -U postgres -c 2 -t 100 -r postgres
    oltp="sysbench oltp_read_write --db-driver=pgsql --pgsql-host=127.0.0.1 --pgsql-port=8935 --pgsql-user=postgres --pgsql-db=postgres --table-size=1000"
    $oltp prepare >/dev/null 2>&1
    keep sysbench-oltp.txt "$(version sysbench --version)" $oltp --time=2 --threads=2 --report-interval=1 run
    su postgres -c "$pg/pg_ctl -D $scratch/pg stop -m fast >/dev/null"
}
# procps, sysstat
timeout 40 sha256sum /dev/zero &
busy=$(pgrep -n sha256sum)
keep vmstat.txt "$(version vmstat -V)" vmstat 1 4
keep vmstat-t.txt "$(version vmstat -V)" vmstat -w -t 1 3
keep top.txt "$(version vmstat -V)" top -b -n 2 -d 1 -p $busy
keep sar.txt "$(version sar -V)" sar 1 3
keep sar-all.txt "$(version sar -V)" sar -u ALL -q -w -n DEV -d -r -P ALL 1 3
sar -A -o data 1 3 >/dev/null 2>&1
keep sadf.json "$(version sadf -V)" sadf -j data -- -u -w -q -n DEV
keep iostat.txt "$(version iostat -V)" iostat -x 1 3
keep iostat-plain.txt "$(version iostat -V)" iostat 1 2
keep iostat.json "$(version iostat -V)" iostat -x -o JSON 1 2
keep mpstat.txt "$(version mpstat -V)" mpstat -P ALL 1 2
keep mpstat.json "$(version mpstat -V)" mpstat -o JSON 1 2
keep pidstat.txt "$(version pidstat -V)" pidstat -u -r -C sha256sum 1 2
# iproute2, rt-tests, hyperfine, mtr-tiny, pchar, linux-perf
keep nstat.txt "$(version nstat -V)" nstat -a
keep nstat.json "$(version nstat -V)" nstat -a -j
keep ss.txt "$(version ss -V)" "iperf3 -c 127.0.0.1 -p 8933 -t 2 >/dev/null & sleep 1; ss -tin state established '( dport = :8933 )'; wait"
keep hackbench.txt "$(version hackbench --help | head -n 1) $(dpkg-query -W -f '${Version}' rt-tests)" "hackbench -g 2 -l 200; hackbench -T -g 4 -l 200"
keep hyperfine.json "$(version hyperfine --version)" "hyperfine --style none --warmup 1 --runs 10 'sleep 0.01' 'sleep 0.02' --export-json out.json >/dev/null 2>&1; cat out.json"
keep hyperfine.txt "$(version hyperfine --version)" "hyperfine --style basic --runs 10 'sleep 0.01' 'sleep 0.02'"
keep mtr.json "$(version mtr --version)" mtr -j -n -c 3 -i 0.2 127.0.0.1
keep mtr.txt "$(version mtr --version)" mtr -r -n -c 3 -i 0.2 127.0.0.1
keep perf-stat.json "$(version perf --version)" perf stat -j sleep 0.1
keep perf-stat-I.json "$(version perf --version)" perf stat -j -I 100 sleep 0.35
keep pchar.txt "$(version pchar -V)" pchar -n -R 2 -I 600 -p ipv4udp 127.0.0.1
# postal, which prints once a minute; python3's own SMTP server until 3.12
python3 -W ignore -c 'import smtpd, asyncore
class Sink(smtpd.SMTPServer):
    def process_message(self, *args, **kwargs): pass
sink = Sink(("127.0.0.1", 8936), None)
asyncore.loop()' &
echo user@localhost >users
sleep 1
keep postal.txt "postal $(dpkg-query -W -f '${Version}' postal)" timeout 125 postal -t 2 -r 120 -p 8936 127.0.0.1 users
# libbenchmark-dev and g++; python3-pytest-benchmark
cat >bench.cc <<'CODE'
#include <benchmark/benchmark.h>
static void sum(benchmark::State& state) {
  for (auto _ : state) { long all = 0; for (long i = 0; i < state.range(0); i++) benchmark::DoNotOptimize(all += i); }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(sum)->Arg(100)->Arg(1000);
BENCHMARK_MAIN();
CODE
g++ -O1 bench.cc -o bench -lbenchmark -lpthread 2>/dev/null &&
    keep google-benchmark.json "libbenchmark $(dpkg-query -W -f '${Version}' libbenchmark-dev)" ./bench --benchmark_format=json --benchmark_min_time=0.05 --benchmark_repetitions=3 2\>/dev/null
cat >test_sum.py <<'CODE'
def test_sum(benchmark):
    benchmark.pedantic(sum, args=(range(1000),), rounds=5, iterations=10)
CODE
keep pytest-benchmark.json "pytest-benchmark $(dpkg-query -W -f '${Version}' python3-pytest-benchmark)" "/usr/bin/python3 -m pytest -q -p no:cacheprovider test_sum.py --benchmark-save-data --benchmark-json bench.json >/dev/null 2>&1; cat bench.json"
# vegeta, from the Go module proxy
GOBIN=$scratch go install github.com/tsenart/vegeta/v12@v12.13.0 2>/dev/null &&
    echo 'GET http://127.0.0.1:8931/page.html' | ./vegeta attack -rate=50 -duration=2s >vegeta.bin &&
    keep vegeta.txt "vegeta 12.13.0" ./vegeta report vegeta.bin &&
    keep vegeta.json "vegeta 12.13.0" ./vegeta report -type=json vegeta.bin
# flent and fping: its test `ping` without the part that needs netperf, which Debian main has not
tests=$(dirname "$(dpkg -L flent | grep /ping.conf)")
sed '/Ping (ms) UDP/,/udp_rtt/d' "$tests/ping.conf" >"$tests/ping_icmp.conf" &&
    keep flent.json "Flent $(dpkg-query -W -f '${Version}' flent)" "flent -H 127.0.0.1 -l 4 ping_icmp -D . >/dev/null 2>&1; gzip -dc ping_icmp-*.flent.gz | sed 's/\"LOCAL_HOST\": \"[^\"]*\"/\"LOCAL_HOST\": \"host\"/'"
rm -f "$tests/ping_icmp.conf"
# JMH, from Maven Central; a JDK and maven
mkdir -p src/main/java/b
cat >pom.xml <<'CODE'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>b</groupId><artifactId>b</artifactId><version>1</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target></properties>
<dependencies><dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-core</artifactId><version>1.37</version></dependency>
<dependency><groupId>org.openjdk.jmh</groupId><artifactId>jmh-generator-annprocess</artifactId><version>1.37</version></dependency></dependencies></project>
CODE
cat >src/main/java/b/Sums.java <<'CODE'
package b;
import org.openjdk.jmh.annotations.*;
import java.util.concurrent.TimeUnit;
@State(Scope.Thread) @OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Sums {
    @Param({"100", "1000"}) int n;
    @Benchmark @BenchmarkMode(Mode.Throughput) public long sum() { long s = 0; for (int i = 0; i < n; i++) s += i * 31L ^ s; return s; }
    @Benchmark @BenchmarkMode(Mode.AverageTime) public long time() { long s = 0; for (int i = 0; i < n; i++) s += i * 31L ^ s; return s; }
}
CODE
mvn -q -B package dependency:copy-dependencies >/dev/null 2>&1 &&
    keep jmh.txt "JMH 1.37" "java -cp 'target/b-1.jar:target/dependency/*' org.openjdk.jmh.Main -f 1 -wi 1 -i 3 -w 300ms -r 300ms -rf json -rff jmh.json" &&
    keep jmh.json "JMH 1.37" cat jmh.json
# k6, from the Go module proxy
cat >script.js <<'CODE'
import http from 'k6/http';
export const options = { vus: 2, iterations: 40 };
export default function () { http.get('http://127.0.0.1:8931/page.html'); }
CODE
GOBIN=$scratch go install go.k6.io/k6@v0.57.0 2>/dev/null &&
    keep k6.txt "k6 0.57.0" ./k6 run --no-usage-report --quiet --summary-export summary.json --out json=lines.json script.js &&
    keep k6.json "k6 0.57.0" cat summary.json &&
    keep k6-lines.json "k6 0.57.0" head -n 60 lines.json
# netperf, of Debian's non-free
netserver -p 8937 -L 127.0.0.1 -D >/dev/null 2>&1 &
sleep 1
net="netperf -p 8937 -H 127.0.0.1"
keep netperf-stream.txt "$(version netperf -V)" $net -l 2 -D 1 -t TCP_STREAM
keep netperf-cpu.txt "$(version netperf -V)" "$net -l 1 -c -C -t TCP_STREAM; $net -l 1 -c -C -t TCP_RR"
keep netperf-maerts.txt "$(version netperf -V)" $net -l 1 -t TCP_MAERTS
keep netperf-udp.txt "$(version netperf -V)" $net -l 1 -t UDP_STREAM
keep netperf-rr.txt "$(version netperf -V)" "$net -l 1 -t TCP_RR; $net -l 1 -t TCP_CRR; $net -l 1 -t UDP_RR"
keep netperf-rr-intervals.txt "$(version netperf -V)" $net -l 3 -D 1 -t TCP_RR
keep netperf-keys.txt "$(version netperf -V)" $net -l 1 -t TCP_RR -- -k THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY,STDDEV_LATENCY
keep netperf-omni.txt "$(version netperf -V)" $net -l 1 -t omni -- -d send
# oha, from crates.io
cargo install --quiet --version 1.16.0 --root "$scratch/cargo" oha && {
    oha="$scratch/cargo/bin/oha --no-tui"
    keep oha.txt "oha 1.16.0" $oha -n 200 -c 4 http://127.0.0.1:8931/
    keep oha.json "oha 1.16.0" $oha --output-format json -n 200 -c 4 http://127.0.0.1:8931/
    keep oha-failed.txt "oha 1.16.0" $oha -n 20 -c 2 http://127.0.0.1:1/
    keep oha-rate.txt "oha 1.16.0" $oha -z 1s -q 40 -c 4 http://127.0.0.1:8931/
}
# criterion, from crates.io
mkdir -p crit/src crit/benches
echo 'pub fn sum(n: u64) -> u64 { (0..n).fold(0, |a, i| a ^ i.wrapping_mul(31)) }' >crit/src/lib.rs
cat >crit/Cargo.toml <<'CODE'
[package]
name = "crit"
version = "0.1.0"
edition = "2021"
[dev-dependencies]
criterion = { version = "=0.5.1", default-features = false, features = ["cargo_bench_support"] }
[[bench]]
name = "sums"
harness = false
[workspace]
CODE
cat >crit/benches/sums.rs <<'CODE'
use criterion::{black_box, criterion_group, criterion_main, BenchmarkId, Criterion, Throughput};
fn sums(c: &mut Criterion) {
    c.bench_function("sum of a thousand", |b| b.iter(|| crit::sum(black_box(1000))));
    let mut group = c.benchmark_group("a group of sums with a long name");
    group.sample_size(20);
    for n in [100u64, 100_000] {
        group.throughput(Throughput::Elements(n));
        group.bench_with_input(BenchmarkId::new("sum", n), &n, |b, &n| b.iter(|| crit::sum(black_box(n))));
    }
}
criterion_group! { name = benches; config = Criterion::default().warm_up_time(std::time::Duration::from_millis(200)).measurement_time(std::time::Duration::from_millis(500)); targets = sums }
criterion_main!(benches);
CODE
(cd crit && cargo bench --quiet --no-run) &&
    keep criterion.txt "criterion 0.5.1" "cd crit; cargo bench --quiet --bench sums" &&
    keep criterion-again.txt "criterion 0.5.1" "cd crit; cargo bench --quiet --bench sums" &&
    keep criterion-estimates.json "criterion 0.5.1" "cat 'crit/target/criterion/sum of a thousand/new/estimates.json'"
# tiotest: its source, https://github.com/mkuoppal/tiobench, built where TIOBENCH says
[ -x "${TIOBENCH:-none}/tiotest" ] && mkdir tio &&
    keep tiotest.txt "tiotest v0.4.2" "$TIOBENCH/tiotest -t 2 -f 16 -r 500 -d tio; $TIOBENCH/tiotest -t 4 -f 8 -r 500 -d tio"
# turbostat of Linux 6.12 (linux-cpupower), the first that can do without MSRs; it needs CAP_SYS_RESOURCE
turbostat --help 2>&1 | grep -q no-msr &&
    keep turbostat.txt "$(version turbostat --version)" turbostat --no-msr --no-perf --quiet --interval 1 --num_iterations 2
# iputils-ping, sockperf, rt-tests, coreutils, linux-perf, stress-ng, fio
keep ping.txt "$(version ping -V)" ping -c 4 -i 0.2 127.0.0.1
sockperf server -i 127.0.0.1 -p 8935 >/dev/null 2>&1 &
sleep 1
keep sockperf.txt "sockperf 3.7" sockperf ping-pong -i 127.0.0.1 -p 8935 -t 2
keep sockperf-throughput.txt "sockperf 3.7" sockperf throughput -i 127.0.0.1 -p 8935 -t 2 -m 1400
keep cyclictest.txt "$(cyclictest --help | head -n 1)" cyclictest -q -D 2 -t 2
keep dd.txt "$(version dd --version)" dd if=/dev/zero of=disk bs=1M count=16
keep perf-stat.txt "$(version perf --version)" perf stat -r 3 --table sleep 0.05
keep perf-stat-I.txt "$(version perf --version)" "perf stat -e cpu-clock,context-switches,page-faults -I 100 timeout 0.35 sh -c 'while :; do :; done'"
keep perf-bench.txt "$(version perf --version)" "perf bench sched pipe -l 20000; perf bench mem memcpy -l 16"
perf record -e cpu-clock dd if=/dev/zero of=/dev/null bs=64k count=20000 >/dev/null 2>&1
keep perf-report.txt "$(version perf --version)" "perf report --stdio --no-children -g none | grep -v '^$' | head -24"
keep stress-ng.txt "$(version stress-ng --version)" stress-ng --matrix 1 -t 1 --metrics-brief
keep fio.txt "$(version fio --version)" fio --name=a --filename=disk --size=4m --rw=randrw --bs=4k --ioengine=psync
keep fio-aio.txt "$(version fio --version)" fio --name=b --filename=disk --size=4m --rw=randread --bs=4k --ioengine=libaio --iodepth=4 --time_based --runtime=3
