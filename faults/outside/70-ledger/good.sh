#!/bin/bash
exec psql -q -At -h /var/tmp/c70 -p 5470 -U postgres -f /var/tmp/c70/work.sql north
