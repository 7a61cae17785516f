#!/bin/bash
exec redis-benchmark -h 127.0.0.1 -p 21951 -t set,get -n 50000 -c 10 -P 8 -d 64 -r 1000 -q >/dev/null
