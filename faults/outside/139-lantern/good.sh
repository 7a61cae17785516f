#!/bin/sh
ulimit -n 1024 || exit 1
exec /var/tmp/c139/run 250 /bin/expr 4 + 4 > /dev/null
