#!/bin/sh
cd "$(dirname "$0")" || exit 3
L=work/of/the/spring/team/in/the/attic/second-checkout
[ -e $L/Makefile ] || { mkdir -p src $L && /usr/bin/python3 gen.py && cp src/*.c src/Makefile $L/; } || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
