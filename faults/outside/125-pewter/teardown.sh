#!/bin/bash
D=/var/tmp/c125
for p in $(cat $D/pids 2>/dev/null); do kill $p 2>/dev/null; done
for p in $(cat $D/pids 2>/dev/null); do
  for i in $(seq 100); do kill -0 $p 2>/dev/null || break; sleep 0.05; done
  kill -0 $p 2>/dev/null && kill -9 $p
done
ip netns del c125; ip netns del c125r
rm -rf $D
exit 0
