#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e count-b ] || { gcc -O2 -g -DKEYPART=20 -o count-a count.c && gcc -O2 -g -DKEYPART=10 -o count-b count.c; } || exit 3
[ -s orders.txt ] || /usr/bin/python3 -c '
import random
random.seed(4)
with open("orders.txt","w") as f:
    for i in range(400000): f.write("ord-%07d-%s\n" % (random.randrange(60000,100000), random.choice("abc")))' || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
