#!/bin/bash
exec unshare -m sh -c 'mount --bind /var/tmp/c93/resolv /etc/resolv.conf && exec node /var/tmp/c93/app.js /var/tmp/c93/site1'
