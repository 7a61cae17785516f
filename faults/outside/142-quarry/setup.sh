#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c142
[ -e $w/pid ] && kill -0 $(cat $w/pid) 2>/dev/null && exit 0
rm -rf $w; mkdir -p $w; chown mysql $w
cp "$here"/*.sql $w/
mysql_install_db --no-defaults --user=mysql --datadir=$w/d --auth-root-authentication-method=normal > $w/log0 2>&1
setsid mariadbd --no-defaults --user=mysql --datadir=$w/d --socket=$w/s --skip-networking --pid-file=$w/pid --tmpdir=$w --innodb-flush-log-at-trx-commit=0 --innodb-buffer-pool-size=64M --skip-log-bin > $w/log 2>&1 < /dev/null &
for i in $(seq 100); do mariadb -u root -S $w/s -e 'select 1' > /dev/null 2>&1 && break; sleep 0.2; done
mariadb -u root -S $w/s < $w/tables.sql
