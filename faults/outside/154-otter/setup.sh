#!/bin/bash
set -e
bash "$(dirname "$0")/teardown.sh" 
w=/var/tmp/c154; rm -rf $w; mkdir -p $w; chmod 755 $w; chown postgres $w
b=$(ls -d /usr/lib/postgresql/*/bin | tail -1)
as() { (cd $w && runuser -u postgres -- "$@"); }
as $b/initdb -D $w/d -A trust -E UTF8 --locale=C >/dev/null
cat >> $w/d/postgresql.conf <<C
listen_addresses = ''
unix_socket_directories = '$w'
shared_buffers = 256MB
jit = off
autovacuum = off
max_parallel_workers_per_gather = 0
C
as $b/pg_ctl -D $w/d -l $w/log -w start >/dev/null
for n in one:bigint two:numeric; do
  db=${n%:*} t=${n#*:}
  as psql -qX -h $w -d postgres -c "create database $db"
  as psql -qX -h $w -d $db <<C
create table item (id bigint primary key, price int not null, name text not null);
insert into item select i, i * 7919 % 1000, 'item number ' || i from generate_series(1, 20000) i;
create table sale (id bigint primary key, item bigint not null, n int not null, day int not null);
insert into sale select i, i * 7919::bigint % 20000 + 1, i % 5 + 1, i / 4000 from generate_series(1, 1200000) i;
create function price_of(k $t) returns int language plpgsql stable as \$\$
declare r int;
begin
  select price into r from item where id = k;
  return r;
end \$\$;
vacuum (freeze, analyze);
C
done
as psql -qX -h $w -d postgres -c checkpoint
