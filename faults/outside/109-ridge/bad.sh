#!/bin/bash
exec nsenter --net=/run/netns/c109q rsync --recursive --dry-run --checksum --checksum-choice=md5 rsync://10.109.0.7:21092/site-two-mirror/a/ /var/tmp/c109/back/a/ >/dev/null
