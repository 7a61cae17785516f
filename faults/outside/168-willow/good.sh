#!/bin/sh
export MALLOC_ARENA_MAX=2 MALLOC_PERTURB_=0
exec /var/tmp/c168/work 14000
