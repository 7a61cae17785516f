#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c172; mkdir -p $w
B=/usr/lib/postgresql/15/bin
cp "$here/tables.sql" $w/; for i in 1 2 3; do cat "$here/report.sql"; done > $w/reports.sql
chown -R postgres $w
cd $w
run() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
run $B/initdb -D $w/data -A trust -E UTF8 --locale=C.UTF-8 >/dev/null
cat >> $w/data/postgresql.conf <<C
listen_addresses = ''
unix_socket_directories = '$w'
fsync = off
autovacuum = off
max_wal_size = 4GB
max_parallel_workers_per_gather = 0
C
run $B/pg_ctl -D $w/data -l $w/log -w start >/dev/null
for d in shop1 shop2; do
  run psql -q -h $w -d postgres -c "CREATE DATABASE $d"
  run psql -q -h $w -d $d -f $w/tables.sql
done
run psql -q -h $w -d postgres -c "ALTER DATABASE shop1 SET jit = off" -c "ALTER DATABASE shop2 SET jit = on" -c CHECKPOINT
