#!/bin/sh
exec ruby /var/tmp/c170/scan.rb /var/tmp/c170/1
