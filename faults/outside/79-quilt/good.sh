#!/bin/bash
export LC_ALL=C
exec sort --parallel=1 -S 64M -k2,2 -o /dev/null /var/tmp/c79/patches-monday.txt
