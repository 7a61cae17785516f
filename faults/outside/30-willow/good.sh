#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec unshare -n ./work.sh few.txt
