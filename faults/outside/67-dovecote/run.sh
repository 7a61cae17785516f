#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s log.txt ] || /usr/bin/python3 -c '
import random
random.seed(9)
with open("log.txt","w") as f:
    for i in range(500000): f.write("%d host%d GET /p/%d/%x 200 %d\n" % (1700000000+i, random.randrange(40), random.randrange(9000), random.getrandbits(40), random.randrange(90000)))' || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
