#!/bin/bash
exec psql -q -At -h /var/tmp/c77 -p 5477 -U ann -f /var/tmp/c77/work.sql census
