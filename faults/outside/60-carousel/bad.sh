#!/bin/sh
cd "$(dirname "$0")" || exit 3
psql -q -U rep_b -d postgres -f report.sql -o /dev/null || exit 1
while read -r l; do psql -q -U rep_b -d postgres -c "$l" -o /dev/null || exit 1; done < small.sql
