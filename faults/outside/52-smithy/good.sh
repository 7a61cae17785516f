#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec mariadb --no-defaults -uroot -S $SOCK d < a.sql > /dev/null
