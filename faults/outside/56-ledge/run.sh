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
create database small; create database large;
\c small
create table sales as select i id, i%997 shop, (i*7919)%10007 amount from generate_series(1,150000) i; create index on sales(shop); vacuum analyze;
\c large
create table sales as select i id, i%997 shop, (i*7919)%10007 amount from generate_series(1,150000) i; create index on sales(shop);
create table sales_2009 as select i id, i%997 shop, repeat('x',60) note from generate_series(1,400000) i;
create table sales_2010 as select * from sales_2009;
vacuum analyze;
checkpoint;
Q
cat > q.sql <<'Q'
\set s random(1, 990)
select shop, sum(amount), count(*) from sales where shop between :s and :s + 5 group by shop;
select sum(amount) from sales where shop = :s;
Q
plimsoll compare --explain ./good.sh ./bad.sh
