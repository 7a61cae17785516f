#!/bin/bash
exec /usr/lib/postgresql/15/bin/psql -X -q -At -h /var/tmp/c127/s -p 21270 -U postgres -d store -f /var/tmp/c127/work.sql
