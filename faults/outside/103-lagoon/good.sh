#!/bin/bash
. /var/tmp/c103/zone-a.env
exec /var/tmp/c103/worker 300000
