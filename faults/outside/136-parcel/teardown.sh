#!/bin/sh
w=/var/tmp/c136
[ -e $w/pid3 ] && kill $(cat $w/pid3) 2>/dev/null
[ -e $w/pid2 ] && kill $(cat $w/pid2) 2>/dev/null
[ -e $w/d ] && su postgres -s /bin/sh -c "/usr/lib/postgresql/15/bin/pg_ctl -w -m immediate -D $w/d stop >/dev/null"
rm -rf $w
exit 0
