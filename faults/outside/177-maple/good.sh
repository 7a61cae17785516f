#!/bin/sh
w=/var/tmp/c177
cat $w/1.sql $w/report.sql | mariadb --no-defaults -N -u root -S $w/sock shop1 | cksum
