#!/bin/bash
set -e
B=/usr/lib/postgresql/15/bin; D=/var/tmp/c77; rm -rf $D; mkdir -p $D; chown postgres $D; cd $D
su postgres -c "$B/initdb -D $D/data -A trust -U postgres >/dev/null"
cat >> $D/data/postgresql.conf <<C
listen_addresses=''
unix_socket_directories='$D'
port=5477
shared_buffers=128MB
autovacuum=off
work_mem=64MB
max_parallel_workers_per_gather=0
C
su postgres -c "$B/pg_ctl -D $D/data -l $D/log -w start >/dev/null"
head -1 $D/data/postmaster.pid > $D/pids
psql -q -h $D -p 5477 -U postgres <<S
create database census;
\c census
create table person(id int, region int, name text, born date, income numeric);
insert into person select g, g%97, md5(g::text), date '1940-01-01' + (g*7919)%25000, (g*31)%90000 from generate_series(1,160000) g;
vacuum analyze person;
create role ann login; create role bob login;
grant select on person to ann, bob;
alter role bob set work_mem='64kB';
alter role bob set jit_above_cost=500;

alter role bob set jit_optimize_above_cost=500;
S
cat > $D/work.sql <<S
select count(*), min(id), max(name) from (select id, name, income from person order by income, id offset 10) s;
select count(*) from person p where id <= 480 and id * 5 not in (select id from person where region in (5, 6, 7, 8));
select region, count(*), avg(income), sum(case when born < date '1970-01-01' then 1 else 0 end) from person where name > '8' and income between 500 and 80000 and region <> 13 group by region order by region limit 3;
select extract(year from born)::int / 10 as d, count(*), max(income) - min(income), avg(length(name)) from person where region between 3 and 60 and (income > 1000 or name < 'a') group by 1 order by 1 limit 2;
select count(*) from person where born between date '1950-01-01' and date '1999-12-31' and income * 2 > 9000 and name not like 'ab%';
S
chmod 644 $D/work.sql
