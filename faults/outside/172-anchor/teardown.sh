#!/bin/sh
w=/var/tmp/c172; cd /
[ -f $w/data/postmaster.pid ] && setpriv --reuid=postgres --regid=postgres --init-groups /usr/lib/postgresql/15/bin/pg_ctl -D $w/data -m fast -w stop >/dev/null
rm -rf $w
