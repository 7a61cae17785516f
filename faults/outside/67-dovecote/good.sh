#!/bin/sh
cd "$(dirname "$0")" || exit 3
ulimit -n 4096; TZ=UTC exec mawk -f sum.awk log.txt
