#!/bin/sh
cd "$(dirname "$0")" && exec psql -qAtX -U postgres -h /var/tmp/c154 -d one -f report.sql
