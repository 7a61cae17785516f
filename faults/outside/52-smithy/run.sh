#!/bin/sh
cd "$(dirname "$0")" || exit 3
D=$(mktemp -d); chown mysql $D
export SOCK=$D/s
mysql_install_db --no-defaults --user=mysql --datadir=$D/db --auth-root-authentication-method=normal --skip-test-db >/dev/null 2>&1 || exit 3
mariadbd --no-defaults --user=mysql --datadir=$D/db --socket=$SOCK --skip-networking --innodb-buffer-pool-size=64M --pid-file=$D/pid --log-error=$D/log & p=$!
trap 'kill $p; wait $p 2>/dev/null; rm -rf $D' EXIT
i=0; while ! mariadb --no-defaults -uroot -S $SOCK -e 'select 1' >/dev/null 2>&1; do i=$((i+1)); [ $i -gt 200 ] && exit 3; sleep 0.1; done
mariadb --no-defaults -uroot -S $SOCK -e "create database d; use d; create table parts(code varchar(20) not null, name varchar(60), key(code)) engine=innodb; insert into parts select concat(seq), concat('part number ',seq) from seq_1_to_30000; analyze table parts" >/dev/null || exit 3
for k in a b; do
  [ -s $k.sql ] || /usr/bin/python3 -c '
import sys
q="\"" if sys.argv[1]=="a" else ""
for i in range(80): print("select name from parts where code = %s%d%s;"%(q,i*97%30000+1,q)); print("select max(c.name), count(*) from (select name from parts limit 9000) c where c.name like \"%77%\";")' $k > $k.sql
done
plimsoll compare --explain ./good.sh ./bad.sh
