#!/bin/sh
cd "$(dirname "$0")" || exit 3
B=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
D=$(mktemp -d); chown postgres $D
PGHOST=$D; export PGHOST B
run(){ cd /; setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
trap '(run $B/pg_ctl -D $D/db -m immediate stop  >/dev/null 2>&1); rm -rf $D' EXIT
(run $B/initdb -D $D/db -U postgres -A trust -N >/dev/null) || exit 3
(run $B/pg_ctl -D $D/db -w -l $D/log -o "-k $D -c listen_addresses= -c fsync=off -c autovacuum=off" start >/dev/null) || exit 3
psql -q -U postgres -d postgres <<'Q' || exit 3
create table orders as select i id, i%997 shop, (i*7919)%10007 amount, md5(i::text) ref from generate_series(1,120000) i;
create table step(n int); insert into step values(1);
vacuum analyze;
create role rep_a login superuser; alter role rep_a set work_mem='128MB';
create role rep_b login superuser; alter role rep_b set work_mem='64kB';
Q
[ -s small.sql ] || { for i in $(seq 25); do echo "update step set n = n + 1;"; done > small.sql; }
plimsoll compare --explain ./good.sh ./bad.sh
