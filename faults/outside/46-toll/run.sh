#!/bin/sh
cd "$(dirname "$0")" || exit 3
for k in "a:select * from acc where id = 17" "b:update acc set v = v + 1 where id = 17"; do
  for i in $(seq 100); do echo "begin; ${k#*:}; select pg_sleep(0.25); commit; select pg_sleep(0.02);"; done > other-${k%%:*}.sql
done
B=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
D=$(mktemp -d); chown postgres $D
PGHOST=$D; export PGHOST B
run(){ cd /; setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
trap '(run $B/pg_ctl -D $D/db -m immediate stop  >/dev/null 2>&1); rm -rf $D' EXIT
(run $B/initdb -D $D/db -U postgres -A trust -N >/dev/null) || exit 3
(run $B/pg_ctl -D $D/db -w -l $D/log -o "-k $D -c listen_addresses= -c fsync=off -c autovacuum=off" start >/dev/null) || exit 3
psql -q -U postgres -d postgres -c "create table acc as select i id, 0 v from generate_series(1,150) i; alter table acc add primary key(id); create table hist as select i%150 g, i from generate_series(1,30000) i; create index on hist(g)" -c "vacuum analyze" || exit 3
plimsoll compare --explain ./good.sh ./bad.sh
