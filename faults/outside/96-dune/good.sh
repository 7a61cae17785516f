#!/bin/bash
unset TZ
. /var/tmp/c96/east.env
exec nsenter --net=/run/netns/c96e /var/tmp/c96/shipper 200000
