#!/bin/bash
exec ip netns exec c83m /usr/bin/python3 /var/tmp/c83/pour.py 10.83.1.1 4000
