#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c136; b=/usr/lib/postgresql/15/bin
mkdir -p $w; chown postgres $w
[ -e $w/pid ] && kill -0 $(cat $w/pid) 2>/dev/null && exit 0
cd $w; rm -rf $w/d
su postgres -s /bin/sh -c "$b/initdb -A trust -N -D $w/d >/dev/null"
cat >> $w/d/postgresql.conf <<C
listen_addresses = ''
unix_socket_directories = '$w'
port = 13600
fsync = off
synchronous_commit = off
autovacuum_naptime = 10s
shared_buffers = 64MB
C
su postgres -s /bin/sh -c "$b/pg_ctl -w -D $w/d -l $w/log start >/dev/null"
head -1 $w/d/postmaster.pid > $w/pid
for k in 1 2; do
  psql -qX -h $w -p 13600 -U postgres -c "create database store$k" postgres
  psql -qX -h $w -p 13600 -U postgres -f "$here/schema.sql" store$k
done
mkfifo $w/in 2>/dev/null || true
setsid psql -qX -h $w -p 13600 -U postgres store2 < $w/in > $w/out 2>&1 &
echo $! > $w/pid2
( printf 'begin isolation level repeatable read;\nselect count(*) from places;\n'; exec sleep 100000 ) > $w/in 2>/dev/null < /dev/null &
echo $! > $w/pid3
sleep 1
