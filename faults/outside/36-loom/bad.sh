#!/bin/sh
cd "$(dirname "$0")" || exit 3
rm -rf out; mkdir out
make -s -f b.mk
r=$?; rm -rf out; exit $r
