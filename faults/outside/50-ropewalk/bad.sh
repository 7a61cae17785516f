#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec perl -e 'syscall(157, 29, 900000); exec @ARGV' perl pace.pl
