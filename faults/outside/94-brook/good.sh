#!/bin/bash
export HOME=/var/tmp/c94 GIT_PAGER=cat
cd /var/tmp/c94/w && exec git log --stat -n 1490 main >/dev/null
