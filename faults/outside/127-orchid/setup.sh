#!/bin/bash
set -e
D=/var/tmp/c127; mkdir -p $D/s; cd $D; : > pids
B=/usr/lib/postgresql/15/bin
chown postgres $D $D/s
as(){ setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }
as $B/initdb -D $D/data -A trust -U postgres -N --no-instructions > initdb.log 2>&1
cat >> data/postgresql.conf <<X
listen_addresses = ''
port = 21270
unix_socket_directories = '$D/s'
fsync = off
synchronous_commit = off
autovacuum_naptime = 1h
jit = off
max_parallel_workers_per_gather = 0
X
as $B/postgres -D $D/data > log 2>&1 &
echo $! >> pids
for i in $(seq 100); do $B/pg_isready -q -h $D/s -p 21270 && break; sleep 0.1; done
P="$B/psql -X -q -At -h $D/s -p 21270 -U postgres"
$P -d postgres -c 'create database plant' -c 'create database store'
for d in plant store; do
  $P -d $d -c "create table job(id int primary key, state text, body text)" -c "insert into job select i,'new','job '||i from generate_series(1,100000) i" \
    -c "create table fact as select i, i%97 as g, md5(i::text) as h from generate_series(1,200000) i" -c "vacuum analyze"
done
# a session of each database that stays
for d in plant store; do
  mkfifo f.$d
  $P -d $d < f.$d > sess.$d 2>&1 &
  echo $! >> pids
  sleep infinity > f.$d 2>/dev/null &
  echo $! >> pids
done
exec 7> f.plant 8> f.store
echo "select count(*) from fact;" >&7
echo "begin isolation level repeatable read; select count(*) from fact;" >&8
exec 7>&- 8>&-
sleep 1.5
for d in plant store; do
  $P -d $d -c "delete from job where id<=99700" -c "vacuum analyze job"
done
$P -d postgres -c checkpoint
cat > work.sql <<'X'
select count(distinct h), sum(g) from fact;
select g, count(distinct h) from fact group by g order by 2 limit 1;
X
for i in $(seq 80); do echo "select id,state from job order by id limit 1;" >> work.sql; done
