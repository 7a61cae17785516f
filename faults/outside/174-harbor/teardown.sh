#!/bin/sh
for k in 1 2; do mountpoint -q /var/tmp/c174/$k && umount /var/tmp/c174/$k; done
rm -rf /var/tmp/c174
