#!/bin/sh
# serve.sh NUMBER SCRATCH ADDRESS PORT
here=$(cd "$(dirname "$0")" && pwd)
case $1 in 2) python3 "$here/more.py" "$2" "$3" "$4" & ;; esac
exec memcached -l "$3" -p "$4" -U 0 -m 64 -t 1 -c 1000
