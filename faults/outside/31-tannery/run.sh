#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -s customers.txt ] || /usr/bin/python3 -c '
import random
random.seed(5)
with open("customers.txt","w") as f:
    for i in range(60000):
        w=" ".join("".join(random.choice("abcdefgh0123") for _ in range(random.randrange(3,9))) for _ in range(5))
        if i%400==0: w="".join(random.choice("abcdefgh") for _ in range(14))+"!"
        f.write(w+"\n")' || exit 3
exec plimsoll compare --explain ./good.sh ./bad.sh
