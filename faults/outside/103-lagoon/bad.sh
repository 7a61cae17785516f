#!/bin/bash
. /var/tmp/c103/zone-b.env
exec /var/tmp/c103/worker 300000
