#!/bin/bash
set -e
D=/var/tmp/c132; mkdir -p $D; cd $D; chmod 755 $D; : > pids
mkdir 1 2
perl -e 'print "create database plan; use plan;\n"; for $t (1..300){ print "create table t$t (id int primary key, v int, n varchar(40)) engine=MyISAM; insert into t$t values ".join(",",map{"($_,".($_*$t%1000).",\"row $_\")"}1..40).";\n" }' > load.sql
perl -e 'for $r (1..45){ for $k (0..29){ print "select ".join("+",map{"(select sum(v) from t".($k*10+$_)." where id<30)"}1..10).";\n" } }' > month.sql
mariadb-install-db --no-defaults --datadir=$D/1/data --user=root --auth-root-authentication-method=normal --skip-test-db > inst.log 2>&1
for n in 1 2; do
  [ $n = 2 ] && cp -a 1/data 2/data
  C=2000; [ $n = 2 ] && C=40
  cat > $n/my.cnf <<X
[mysqld]
datadir=$D/$n/data
socket=$D/$n/sock
pid-file=$D/$n/pid
skip-networking
user=root
innodb_buffer_pool_size=32M
innodb_flush_log_at_trx_commit=0
query_cache_type=0
table_open_cache=$C
table_definition_cache=$((C>400?C:400))
table_open_cache_instances=1
key_buffer_size=32M
X
  mariadbd --defaults-file=$D/$n/my.cnf > $n/log 2>&1 &
  echo $! >> pids
done
for n in 1 2; do
  for i in $(seq 150); do mariadb-admin --no-defaults -u root -S $D/$n/sock ping >/dev/null 2>&1 && break; sleep 0.1; done
  mariadb --no-defaults -u root -S $D/$n/sock < load.sql
done
