#!/bin/sh
cd "$(dirname "$0")" || exit 3
LOCPATH=$PWD/loc LC_ALL=en_US.utf8 sort -S 200M --parallel=1 names.txt > /dev/null
