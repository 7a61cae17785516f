#!/bin/bash
set -e
D=/var/tmp/c101; mkdir -p $D; cd $D; : > pids
chown postgres: $D; B=/usr/lib/postgresql/15/bin
setpriv --reuid=postgres --regid=postgres --clear-groups $B/initdb -D $D/pg -A trust -E UTF8 --locale=C >/dev/null
cat >> $D/pg/postgresql.conf <<X
port=54101
listen_addresses=''
unix_socket_directories='$D'
fsync=off
shared_buffers=128MB
autovacuum=off
max_parallel_workers_per_gather=0
work_mem='64MB'
X
setsid setpriv --reuid=postgres --regid=postgres --clear-groups $B/postgres -D $D/pg </dev/null >$D/log 2>&1 &
echo $! >> pids
P="psql -X -q -h $D -p 54101 -U postgres"
until $P -c 'select 1' >/dev/null 2>&1; do sleep 0.2; done
for d in north south; do
$P -c "create database $d"
$P -d $d >/dev/null <<'X'
create table sale as select g as id, (g::bigint*7919)%20011 as article, md5(g::text) as ref, (g%997)::numeric/10 as price, g%50 as shop from generate_series(1,120000) g;
alter table sale add primary key(id);
create table line(id int primary key, sale_id int references sale(id), qty int);
insert into line select g, 20000+g%40000, g%7 from generate_series(1,40000) g;
create index line_sale on line(sale_id);
vacuum analyze;
X
done
$P -c "alter database south set jit_above_cost=3000; alter database south set jit_inline_above_cost=0; alter database south set jit_optimize_above_cost=0"
$P -d south -c 'drop index line_sale'
cat > day.sql <<'X'
select count(*), max(ref) from (select ref, id from sale order by ref offset 0) x;
select count(*) from (select ref, article, price from sale order by price, ref offset 1) x;
select count(*) from (select ref, article, price from sale order by article, ref offset 1) x;
select shop, sum(price) from sale where id between 100 and 200 group by shop order by 1 limit 1;
select avg(price*1.19) from sale where id between 3100 and 3200 and shop in (1,3,7);
select sum(length(ref)) from sale where id between 5000 and 5100 and price > 3;
begin;
delete from sale where id between 1000 and 1119;
rollback;
X
