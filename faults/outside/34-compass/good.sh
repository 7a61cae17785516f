#!/bin/sh
cd "$(dirname "$0")" || exit 3
sqlite3 :memory: < q.sql
