#!/bin/sh
cd "$(dirname "$0")" || exit 3
PERL_HASH_SEED=0 exec perl words.pl
