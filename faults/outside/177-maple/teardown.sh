#!/bin/sh
w=/var/tmp/c177
if [ -f $w/pid ]; then
  p=$(cat $w/pid); kill $p; i=0; while kill -0 $p 2>/dev/null && [ $i -lt 150 ]; do i=$((i+1)); sleep 0.1; done
fi
rm -rf $w
