#!/bin/sh
export MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072
exec /var/tmp/c168/work 14000
