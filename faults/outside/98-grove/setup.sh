#!/bin/bash
set -e
D=/var/tmp/c98; mkdir -p $D/src/pkg $D/r1 $D/r2; cd $D; : > pids
/usr/bin/python3 - <<'X'
import os
for m in range(100):
    with open(f'/var/tmp/c98/src/pkg/mod{m:03d}.py','w') as f:
        for i in range(45):
            f.write(f"def step_{i}(a, b=None, *args, **kw):\n    r = []\n    for j in range(a + {i}):\n        if j % 3 == {i%3} and not kw:\n            r.append((j, a * {m} + j, [x for x in range(3)]))\n        elif b is not None:\n            r.extend(args)\n        else:\n            r.append({{'k': j, 'v': 'text {i} %d' % j}})\n    return r\n\n")
        f.write("TABLE = {" + ", ".join(f"'k{i}': step_{i}" for i in range(45)) + "}\n")
open('/var/tmp/c98/src/pkg/__init__.py','w').write('')
with open('/var/tmp/c98/src/main.py','w') as f:
    f.write("import sys, os\nsys.path.insert(0, os.path.dirname(__file__))\n")
    for m in range(100): f.write(f"from pkg import mod{m:03d}\n")
    f.write("n = 0\nfor k in range(400):\n    for name, fn in mod007.TABLE.items():\n        n += len(fn(40))\nprint(n)\n")
X
/usr/bin/python3 -m compileall -q src
mksquashfs src rel1.img -quiet -no-progress >/dev/null
mksquashfs src rel2.img -quiet -no-progress -all-time 1700000000 >/dev/null
mount -o loop,ro rel1.img r1
mount -o loop,ro rel2.img r2
