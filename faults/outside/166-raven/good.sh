#!/bin/bash
cd /var/tmp/c166 && zstd -q -14 -T1 --single-thread < whole | wc -c
