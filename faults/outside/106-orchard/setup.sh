#!/bin/bash
set -e
D=/var/tmp/c106; mkdir -p $D/run; cd $D; : > pids
chown mysql: $D $D/run
mariadb-install-db --no-defaults --user=mysql --datadir=$D/d1 --skip-test-db --auth-root-authentication-method=normal >/dev/null 2>&1
start() {
cat > my$1.cnf <<X
[mariadbd]
user=mysql
datadir=$D/d$1
socket=$D/run/s$1
pid-file=$D/run/p$1
skip-networking
innodb_buffer_pool_size=64M
innodb_log_file_size=16M
innodb_flush_log_at_trx_commit=0
table_open_cache=$2
table_definition_cache=$3
innodb_file_per_table=0
performance_schema=off
X
setsid mariadbd --defaults-file=$D/my$1.cnf </dev/null >$D/log$1 2>&1 &
echo $! >> pids; last=$!
until mariadb --no-defaults -uroot -S $D/run/s$1 -e 'select 1' >/dev/null 2>&1; do sleep 0.2; done
}
start 1 2000 1400
cols=; vals=; for k in $(seq 12); do cols="$cols attr_$k varchar(30) default 'none',"; vals="$vals,'v$k'"; done
( echo "create database shop; use shop;"
for i in $(seq 450); do echo "create table tenant_$i(id int primary key, name varchar(40), city varchar(40), street varchar(40), zip int, mail varchar(60), note varchar(200), created datetime, updated datetime, amount decimal(10,2), $cols key(name), key(city), key(mail), key(zip));insert into tenant_$i select seq, concat('n',seq), 'c', 's', seq, 'm', 'x', now(), now(), seq $vals from seq_1_to_20;"; done ) | mariadb --no-defaults -uroot -S $D/run/s1
kill $last; while kill -0 $last 2>/dev/null; do sleep 0.1; done
: > pids
cp -a d1 d2
start 1 2000 1400
start 2 10 400
awk 'BEGIN{for(i=0;i<270;i++){ for(j=0;j<20;j++) printf "%s select name,amount from tenant_%d where id=%d",j?" union all":"",(i*20+j)%450+1,i%20+1; print ";"}}' > q.sql
