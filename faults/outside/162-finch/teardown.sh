#!/bin/sh
rm -rf /var/tmp/c162
