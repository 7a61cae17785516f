#!/bin/bash
set -e
D=/var/tmp/c131; mkdir -p $D; cd $D; : > pids
/usr/bin/python3 - <<'X'
import random,zlib
random.seed(8)
lines=[]
for i in range(1000000):
    lines.append("10.%d.%d.%d - - [12/Mar/2026:%02d:%02d:%02d] \"GET /item/%d HTTP/1.1\" %d %d\n"%(random.randint(0,9),random.randint(0,255),random.randint(0,255),i//42000%24,i//700%60,i//12%60,random.randint(1,5000),random.choice((200,200,200,304,404)),random.randint(100,90000)))
def comp(s):
    c=zlib.compressobj(6,zlib.DEFLATED,31); return c.compress(s)+c.flush()
open('web1.log.gz','wb').write(comp("".join(lines).encode()))
with open('web2.log.gz','wb') as f:
    for i in range(0,len(lines),14): f.write(comp("".join(lines[i:i+14]).encode()))
X
