#!/bin/sh
cd "$(dirname "$0")" || exit 3
# $1: options, $2: where the other job runs
c=$(taskset -cp $$ | sed 's/.*[: ,-]//')
f=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
[ $2 = same ] && o=$c || o=$f
taskset -c $o ./hog & p=$!
d=$(mktemp -d)
trap 'kill $p; wait $p 2>/dev/null; rm -rf $d' EXIT
for k in 0 1; do taskset -c $c gcc -O1 @$1 -I. -c m$k.c -o $d/m$k.o || exit 1; done
