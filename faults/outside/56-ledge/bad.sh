#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec pgbench -n -f q.sql -t 800 -c 1 --random-seed=3 -U postgres large > /dev/null
