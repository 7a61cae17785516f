#!/bin/bash
set -e
D=/var/tmp/c89; rm -rf $D; mkdir -p $D/bronze $D/pewter; cd $D; : > pids
perl -e 'for $d ("bronze","pewter") { $p = $d eq "bronze" ? "cast" : "mould"; @n = map { "$p$_" } 1..6; @n = reverse @n if $d eq "pewter";
  for $m (@n) { open F,">","$d/$m.c"; print F "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"; for $k (1..9) { print F "int ${m}_$k(int a,int b){int s=0;for(int i=0;i<a;i++){s+=i*b^($k+i);if(s>%d)s-=b;}char t[32];snprintf(t,32,\"%%d\",s);return strlen(t)+s;}\n" =~ s/%d\)s/9999)s/r =~ s/%%/%/r } close F }
  open F,">","$d/Makefile"; print F "all: ", join(" ", map {"$_.o"} @n), "\n%.o: %.c\n\tgcc -O1 -c -o \$@ \$<\nclean:\n\trm -f *.o\n"; close F }'
for i in $(seq 40); do sleep 86400 </dev/null >/dev/null 2>&1 & echo $! >> pids; done
