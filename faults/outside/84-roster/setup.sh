#!/bin/bash
set -e
D=/var/tmp/c84; rm -rf $D; mkdir -p $D; cd $D
cat > shift.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static void clean(void){ long m=sysconf(_SC_OPEN_MAX); for(int i=3;i<m;i++) close(i); }
int main(int c,char**v){ int n=atoi(v[1]),ok=0; for(int i=0;i<n;i++){ pid_t p=fork(); if(!p){ clean(); execl("/bin/true","true",(char*)0); _exit(9);} int st; waitpid(p,&st,0); ok+=!st; } printf("%d\n",ok); }
C
gcc -O1 -o shift shift.c
printf 'ulimit -S -n 1024\nexport TEAM=amber\n' > amber.env
printf 'ulimit -S -n 10000\nexport TEAM=coral\n' > coral.env
