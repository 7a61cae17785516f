#!/bin/bash
set -e
D=/var/tmp/c134; mkdir -p $D; cd $D; : > pids
perl -e 'for my $d (0..39){ mkdir "tree" unless $d; mkdir "tree/d$d"; for(1..250){ open my $f,">","tree/d$d/f$_"; print $f "x"; close $f } }'
echo 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do find /var/tmp/c134/tree -type f -size +3k; done' > sweep.sh
cat > box.c <<'X'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <linux/seccomp.h>
#include <linux/filter.h>
#include <linux/audit.h>
/* rules file: one filter a line: "argument-index value nr nr nr ..." : calls nr are refused if the low word of the argument has that value */
int main(int c,char**v){
  FILE*f=fopen(v[1],"r"); char l[4096];
  if(!f||prctl(PR_SET_NO_NEW_PRIVS,1,0,0,0)){perror("box");return 1;}
  while(fgets(l,sizeof l,f)){
    struct sock_filter p[700]; int n=0; char*s=l; unsigned a=strtoul(s,&s,10), val=strtoul(s,&s,10); unsigned nr[600]; int k=0;
    for(;;){ char*e; unsigned x=strtoul(s,&e,10); if(e==s) break; s=e; nr[k++]=x; }
    p[n++]=(struct sock_filter)BPF_STMT(BPF_LD|BPF_W|BPF_ABS,offsetof(struct seccomp_data,args)+8*a);
    p[n++]=(struct sock_filter)BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K,val,1,0);
    p[n++]=(struct sock_filter)BPF_STMT(BPF_RET|BPF_K,SECCOMP_RET_ALLOW);
    p[n++]=(struct sock_filter)BPF_STMT(BPF_LD|BPF_W|BPF_ABS,offsetof(struct seccomp_data,nr));
    for(int i=0;i<k;i++){ p[n++]=(struct sock_filter)BPF_JUMP(BPF_JMP|BPF_JEQ|BPF_K,nr[i],0,1); p[n++]=(struct sock_filter)BPF_STMT(BPF_RET|BPF_K,SECCOMP_RET_ERRNO|1); }
    p[n++]=(struct sock_filter)BPF_STMT(BPF_RET|BPF_K,SECCOMP_RET_ALLOW);
    struct sock_fprog g={n,p};
    if(prctl(PR_SET_SECCOMP,SECCOMP_MODE_FILTER,&g,0,0)){perror("filter");return 1;}
  }
  execvp(v[2],v+2); perror("exec"); return 1;
}
X
gcc -O2 -o box box.c
echo "0 4294967295 165 166 169 175 176 246" > std.rules
perl -e 'my @n=(165,166,169,175,176,246,248,249,250,304,310,311,313,320,321,323); for my $i (1..90){ print join(" ",$i%3, 4294967295-$i, @n),"\n" }' > ext.rules
