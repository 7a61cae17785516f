#!/bin/bash
exec redis-benchmark -s /var/tmp/c69/east.sock -n 40000 -c 8 -r 2000 -q HGET basket f:__rand_int__
