#!/bin/sh
exec taskset -c 1 ip netns exec c144-2 python3 /var/tmp/c144/job.py 3000
