#!/bin/bash
D=/var/tmp/c127
for p in $(cat $D/pids 2>/dev/null); do kill $p 2>/dev/null; done
for p in $(cat $D/pids 2>/dev/null); do
  for i in $(seq 100); do kill -0 $p 2>/dev/null || break; sleep 0.05; done
  kill -0 $p 2>/dev/null && kill -9 $p
done
rm -rf $D
exit 0
