#!/bin/sh
cd /var/tmp/c161 && for u in 0 1 2; do gcc -O1 -pipe @opt1 -c unit$u.c -o unit$u.o || exit 1; done
