#!/bin/sh
exec /var/tmp/c162/work /var/tmp/c162/table 2000
