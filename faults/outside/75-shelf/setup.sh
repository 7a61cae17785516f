#!/bin/bash
set -e
D=/var/tmp/c75; rm -rf $D; mkdir -p $D/left $D/right; cd $D; : > pids
cat > shieldd.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/fanotify.h>
int main(int c, char **v){
  int fd=fanotify_init(FAN_CLASS_CONTENT|FAN_CLOEXEC,O_RDONLY|O_LARGEFILE); if(fd<0){perror("init");return 1;}
  if(fanotify_mark(fd,FAN_MARK_ADD,FAN_OPEN_PERM|FAN_EVENT_ON_CHILD,AT_FDCWD,v[1])){perror("mark");return 1;}
  static char b[8192] __attribute__((aligned(8))); static unsigned char d[65536];
  for(;;){ ssize_t n=read(fd,b,sizeof b); if(n<=0) return 1;
    struct fanotify_event_metadata *m=(void*)b;
    for(;FAN_EVENT_OK(m,n);m=FAN_EVENT_NEXT(m,n)){
      unsigned h=5381; ssize_t k; while((k=pread(m->fd,d,sizeof d,0))>0){ for(int r=0;r<6;r++) for(ssize_t i=0;i<k;i++) h=h*33+d[i]; break; }
      struct fanotify_response r={m->fd,h==1?FAN_DENY:FAN_ALLOW}; if(write(fd,&r,sizeof r)<0) perror("w"); close(m->fd); } } }
C
gcc -O1 -o shieldd shieldd.c
cat > read.pl <<'P'
use Digest::MD5 qw(md5_hex);
my ($d,$n)=@ARGV; my $t=0;
for my $r (1..4) { for my $i (1..$n) { open(my $f,"<","$d/book-$i.txt") or die $!; local $/; my $x=<$f>; close $f; my $c=0; $c++ while $x=~/\bw\d+/g; $t+=$c; md5_hex($x); } }
print "$t\n";
P
perl -e 'for $d ("left","right") { for $i (1..1500) { open F,">","$d/book-$i.txt"; print F join(" ", map { "w".(($_*$i)%9973) } 1..500); close F } }'
./shieldd $D/right </dev/null >/dev/null 2>&1 & echo $! >> pids
sleep 0.3
