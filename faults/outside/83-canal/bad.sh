#!/bin/bash
exec ip netns exec c83n /usr/bin/python3 /var/tmp/c83/pour.py 10.83.2.1 4000
