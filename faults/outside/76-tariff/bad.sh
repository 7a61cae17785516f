#!/bin/bash
export LD_LIBRARY_PATH=/var/tmp/c76/v2
exec /var/tmp/c76/bill 30000
