#!/bin/bash
exec ip netns exec c73cl /usr/bin/python3 /var/tmp/c73/ask.py 10.73.1.2 12000
