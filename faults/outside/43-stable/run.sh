#!/bin/sh
cd "$(dirname "$0")" || exit 3
[ -e made ] || { rm -rf a b; mkdir a b && /usr/bin/python3 -c '
import random
random.seed(1)
names=["%08x"%random.getrandbits(32) for _ in range(1500)]
data={n:random.randbytes(120000) for n in names}
for d,o in (("a",names),("b",sorted(names,key=lambda n:n[::-1]))):
    for n in o: open(d+"/"+n,"wb").write(data[n])' && touch made; } || exit 3
cat a/* b/* > /dev/null
exec plimsoll compare --explain ./good.sh ./bad.sh
