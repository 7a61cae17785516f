#!/bin/sh
cd "$(dirname "$0")" || exit 3
i=0
while [ $i -lt 1500 ]; do export SETTING_NUMBER_$i="some value that nobody reads $i"; i=$((i+1)); done
PERL_HASH_SEED=0 exec perl words.pl
