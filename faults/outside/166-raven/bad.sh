#!/bin/bash
cd /var/tmp/c166 && cat link/p??? | cat | zstd -q -14 -T1 --single-thread | wc -c
