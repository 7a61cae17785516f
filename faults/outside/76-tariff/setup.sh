#!/bin/bash
set -e
D=/var/tmp/c76; rm -rf $D; mkdir -p $D/v1 $D/v2; cd $D; : > pids
cat > lib.c <<'C'
long rate_lookup(long zone, long w){ long s=zone; for(int i=0;i<9000;i++) s=(s*1103515245+12345+w)&0x7fffffff; return s%977; }
C
cat > main.c <<'C'
#include <stdio.h>
#include <stdlib.h>
long rate_lookup(long,long);
int main(int c,char**v){ long n=atol(v[1]),t=0; for(long i=0;i<n;i++) t+=rate_lookup(i%41,i); printf("%ld\n",t); }
C
gcc -O1 -shared -fPIC -o v1/libtariff.so lib.c; cp v1/libtariff.so v2/
gcc -O1 -o bill main.c -Lv1 -ltariff
bpftrace -e "uprobe:$D/v2/libtariff.so:rate_lookup { @hits = count(); }" </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 4
