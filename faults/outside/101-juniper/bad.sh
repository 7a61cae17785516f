#!/bin/bash
exec psql -X -q -v ON_ERROR_STOP=1 -h /var/tmp/c101 -p 54101 -U postgres -d south -f /var/tmp/c101/day.sql >/dev/null
