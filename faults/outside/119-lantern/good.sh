#!/bin/bash
exec redis-benchmark -h 127.0.0.1 -p 21191 -t set,get -n 150000 -P 16 -c 20 -q
