#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e image-b ] || { gcc -O1 -g -DROWS=1 -DBUF=1 -o image-a image.c && gcc -O1 -g -DROWS=0 -DBUF=0 -o image-b image.c; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
