#!/bin/sh
cd "$(dirname "$0")" || exit 3
psql -q -U rep_a -d postgres -f report.sql -o /dev/null || exit 1
psql -q -U rep_a -d postgres -f small.sql -o /dev/null
