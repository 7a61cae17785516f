#!/bin/sh
cd "$(dirname "$0")" || exit 3
chmod +x hog work.sh
[ -d inc ] || { mkdir inc && for i in $(seq 700); do mkdir inc/lib$i; done && for i in $(seq 700); do echo "-Iinc/lib$i"; done > inc.opt; echo "-Iinc/lib1" > few.opt; } || exit 3
[ -s m2.c ] || /usr/bin/python3 gen.py || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
