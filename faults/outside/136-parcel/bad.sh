#!/bin/sh
cd "$(dirname "$0")" && exec psql -qX -v ON_ERROR_STOP=1 -h /var/tmp/c136 -p 13600 -U postgres -f job.sql store2
