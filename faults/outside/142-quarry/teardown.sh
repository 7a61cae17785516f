#!/bin/sh
w=/var/tmp/c142
if [ -e $w/pid ]; then
  p=$(cat $w/pid); kill $p
  for i in $(seq 100); do kill -0 $p 2>/dev/null || break; sleep 0.1; done
fi
rm -rf $w
