#!/bin/sh
cd /var/tmp/c172 && psql -X -q -A -t -U postgres -h /var/tmp/c172 -d shop2 -f reports.sql | cksum
