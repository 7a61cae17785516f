#!/bin/bash
LC_ALL=C sort --parallel=1 -S 200M -k3,3n -k1,1 /var/tmp/c118/in1/list.txt | tail -n 1
