#!/bin/bash
exec nsenter --net=/run/netns/c115c iperf3 -c 10.115.2.2 -p 5201 -n 1000M >/dev/null
