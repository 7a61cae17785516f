#!/bin/sh
rm -rf /var/tmp/c135/1 /var/tmp/c135/2
