#!/bin/sh
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c177; mkdir -p $w
for i in 1 2 3 4; do cat "$here/report.sql"; done > $w/report.sql
mariadb-install-db --no-defaults --user=root --datadir=$w/data --auth-root-authentication-method=normal --skip-test-db >/dev/null 2>&1
mariadbd --no-defaults --user=root --datadir=$w/data --socket=$w/sock --pid-file=$w/pid --skip-networking --innodb-buffer-pool-size=512M \
  --innodb-flush-log-at-trx-commit=0 --innodb-flush-method=fsync --table-open-cache=1000 --log-error=$w/log --slow-query-log-file=$w/slow >/dev/null 2>&1 </dev/null &
i=0; until mariadb-admin --no-defaults -u root -S $w/sock ping >/dev/null 2>&1; do i=$((i+1)); [ $i -lt 200 ]; sleep 0.1; done
for k in 1 2; do
  mariadb --no-defaults -u root -S $w/sock -e "CREATE DATABASE shop$k"
  python3 "$here/gen.py" $k | mariadb --no-defaults -u root -S $w/sock shop$k >/dev/null
done
echo "SET SESSION long_query_time = 10;" > $w/1.sql
echo "SET SESSION slow_query_log = 1, long_query_time = 9, log_slow_verbosity = 'query_plan', sort_buffer_size = 8388608, join_buffer_size = 1048576, tmp_table_size = 67108864, max_heap_table_size = 67108864, optimizer_search_depth = 40, profiling = 0;" > $w/2.sql
