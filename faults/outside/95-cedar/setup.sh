#!/bin/bash
set -e
D=/var/tmp/c95; mkdir -p $D/n1 $D/n2; cd $D; : > pids
for n in 1 2; do
  setsid redis-server --port 2195$n --bind 127.0.0.1 --dir $D/n$n --save "" --appendonly no --daemonize no </dev/null >$D/n$n.log 2>&1 &
  echo $! >> pids
done
for n in 1 2; do until redis-cli -p 2195$n ping >/dev/null 2>&1; do sleep 0.1; done; done
for i in 1 2; do setsid redis-cli -p 21952 monitor </dev/null >/dev/null 2>&1 & echo $! >> pids; done
sleep 0.5
