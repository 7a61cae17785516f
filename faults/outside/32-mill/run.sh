#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s data.bin ] || /usr/bin/python3 -c '
import random
random.seed(3)
w=[bytes(random.choice(b"abcdefghijklmnop") for _ in range(random.randrange(3,10))) for _ in range(3000)]
with open("data.bin","wb") as f:
    for i in range(280000): f.write(random.choice(w)+b" ")' || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
