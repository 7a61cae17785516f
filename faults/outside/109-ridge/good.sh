#!/bin/bash
exec nsenter --net=/run/netns/c109p rsync -rnc --checksum-choice=md5 rsync://127.0.0.1:21091/data/a/ /var/tmp/c109/back/a/ >/dev/null
