#!/bin/sh
cd "$(dirname "$0")" || exit 3
export LC_ALL=C
sort --parallel=1 -k1,1n -k2 log.txt | gzip -6 -c | wc -c
