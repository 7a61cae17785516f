#!/bin/bash
. /var/tmp/c173/2/env
exec perl /var/tmp/c173/2/tally.pl --data=/var/tmp/c173/2/data
