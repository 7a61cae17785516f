#!/bin/bash
dnsperf -s 127.0.0.1 -p 21230 -d /var/tmp/c123/ask.south -D -n 1 -c 1 -q 20 | grep -E 'Queries completed|Response codes'
