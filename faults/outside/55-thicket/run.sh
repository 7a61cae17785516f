#!/bin/sh
cd "$(dirname "$0")" || exit 3
if [ ! -e made ]; then
  for k in a b; do
    rm -f $k.img; truncate -s 150M $k.img; mkfs.ext4 -q -F -N 45000 -O ^has_journal $k.img || exit 3
    m=$(mktemp -d); mount -o loop $k.img $m || exit 3
    if [ $k = b ]; then
      /usr/bin/python3 -c '
import os,sys
m=sys.argv[1]; n=0
os.mkdir(m+"/f")
try:
    while n<40000:
        fd=os.open(m+"/f/%d"%n,os.O_CREAT|os.O_WRONLY); os.posix_fallocate(fd,0,4096); os.close(fd); n+=1
except OSError: pass
for i in range(0,n,2): os.unlink(m+"/f/%d"%i)
os.sync()' $m
    fi
    head -c 60000000 blob.tmp > $m/data 2>/dev/null || { head -c 60000000 /dev/urandom > blob.tmp; head -c 60000000 blob.tmp > $m/data; }
    sync -f $m; filefrag $m/data; umount $m; rmdir $m
  done
  rm -f blob.tmp; touch made
fi
exec plimsoll compare --explain ./good.sh ./bad.sh
