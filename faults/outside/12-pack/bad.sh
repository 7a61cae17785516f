#!/bin/sh
cd "$(dirname "$0")" || exit 3
export LC_ALL=C
. ./flags.env
./arrange log.txt --parallel=1 -k1,1n -k2 | ./squeeze -c -6 | wc -c
