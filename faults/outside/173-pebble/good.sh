#!/bin/bash
. /var/tmp/c173/1/env
exec perl /var/tmp/c173/1/tally.pl --data=/var/tmp/c173/1/data
