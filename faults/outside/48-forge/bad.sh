#!/bin/sh
cd "$(dirname "$0")" || exit 3
ulimit -n 80000; exec perl spawn.pl
