#!/bin/sh
set -a; . /var/tmp/c141/1.env; set +a
exec ruby --disable-gems /var/tmp/c141/job.rb
