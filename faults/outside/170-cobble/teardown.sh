#!/bin/sh
rm -rf /var/tmp/c170
