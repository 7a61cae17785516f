#!/bin/bash
unset TZ
. /var/tmp/c96/west.env
exec nsenter --net=/run/netns/c96w /var/tmp/c96/shipper 200000
