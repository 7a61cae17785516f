#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s parts.db ] || { rm -f p.tmp; sqlite3 p.tmp "create table parts(id integer primary key, d blob); with recursive n(i) as (select 1 union all select i+1 from n where i<300000) insert into parts select i, randomblob(300) from n;" && mv p.tmp parts.db; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
