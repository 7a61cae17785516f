#!/bin/bash
set -e
B=/usr/lib/postgresql/15/bin; D=/var/tmp/c70; rm -rf $D; mkdir -p $D; chown postgres $D; cd $D
su postgres -c "$B/initdb -D $D/data -A trust -U postgres >/dev/null"
cat >> $D/data/postgresql.conf <<C
listen_addresses=''
unix_socket_directories='$D'
port=5470
shared_buffers=64MB
autovacuum=off
jit=off
max_parallel_workers_per_gather=0
C
su postgres -c "$B/pg_ctl -D $D/data -l $D/log -w start >/dev/null"
head -1 $D/data/postmaster.pid > $D/pids
for n in north south; do
psql -q -h $D -p 5470 -U postgres <<S
create database $n;
\c $n
create table account(id int primary key, owner text, balance numeric);
create table posting(id int primary key, account_id int references account(id), amount numeric, memo text);
insert into account select g, 'owner '||g, 0 from generate_series(1,6000) g;
insert into posting select g, 1+g%3000, g*0.25, 'memo '||g from generate_series(1,30000) g;
create index on posting(memo);
S
done
psql -q -h $D -p 5470 -U postgres north -c 'create index on posting(account_id)'
for n in north south; do psql -q -h $D -p 5470 -U postgres $n -c 'vacuum analyze'; done
cat > $D/work.sql <<S
begin;
select count(*), sum(amount) from posting p join account a on a.id=p.account_id where memo like '%7%';
select count(distinct md5(memo||g)) from posting, generate_series(1,4) g;
delete from account where id between 5001 and 5120;
rollback;
S
chmod 644 $D/work.sql
