#!/bin/bash
exec mariadb --no-defaults -uroot -S /var/tmp/c106/run/s2 shop < /var/tmp/c106/q.sql >/dev/null
