#!/bin/sh
cd /var/tmp/c159/one && for i in 1 2; do g++ -std=c++17 -O1 -g -pthread -c part$i.cpp -o part$i.o || exit 1; done
