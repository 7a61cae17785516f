import random, sys
r = random.Random(5)
w = sys.argv[1]
for u in range(3):
    o = open(f"{w}/unit{u}.c", "w")
    o.write('#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <stdint.h>\n#include "common.h"\n')
    for f in range(95):
        o.write(f"uint64_t f{u}_{f}(uint64_t a, uint64_t b, const unsigned char *p, int n) {{\n  for (int i = 0; i < n; i++) {{\n")
        for k in range(7):
            o.write(f"    if ((p[i] ^ {r.randrange(256)}) > {r.randrange(200)}) a = a * {r.randrange(3, 9999)} + (b >> {r.randrange(1, 60)}); else b ^= a + MIX({r.randrange(99999)});\n")
        o.write("  }\n  return a ^ b;\n}\n")
