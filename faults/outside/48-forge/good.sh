#!/bin/sh
cd "$(dirname "$0")" || exit 3
ulimit -n 256; exec perl spawn.pl
