#!/bin/bash
set -e
D=/var/tmp/c85; rm -rf $D; mkdir -p $D; cd $D
cat > svc.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/prctl.h>
int main(int c,char**v){ char l[256]; long x; FILE*f=fopen(v[1],"r"); if(!f) return 1;
  while(fgets(l,sizeof l,f)){ if(sscanf(l,"TimerSlackNSec=%ld",&x)==1) prctl(PR_SET_TIMERSLACK,x,0,0,0); if(sscanf(l,"Nice=%ld",&x)==1&&x) (void)!nice(x); if(sscanf(l,"UMask=%lo",&x)==1) (void)x; }
  fclose(f); execv(v[2],v+2); return 1; }
C
cat > blink.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int c,char**v){ int n=atoi(v[1]); unsigned s=1; struct timespec t={0,120000}; for(int i=0;i<n;i++){ nanosleep(&t,0); for(int j=0;j<20000;j++) s=s*1103515245+12345; } printf("%u\n",s); }
C
gcc -O1 -o svc svc.c; gcc -O1 -o blink blink.c
printf '[Service]\nUMask=0022\nNice=0\nTimerSlackNSec=50000\n' > cape.service
printf '[Service]\nUMask=0022\nNice=0\nTimerSlackNSec=500000\n' > reef.service
