#!/bin/sh
cd "$(dirname "$0")" || exit 3
psql -q -h $PGHOST -U postgres -d postgres -o /dev/null -f other-b.sql & p=$!
trap 'kill $p 2>/dev/null; wait 2>/dev/null' EXIT
pgbench -n -f upd.sql -t 1500 -c 2 -j 1 --random-seed=5 -U postgres postgres > /dev/null
