#!/bin/bash
export HOME=/var/tmp/c94 GIT_PAGER=cat
cd "/var/tmp/c94/projects/team/release train/2026/product" && exec /var/tmp/c94/gitx log --stat -n 1490 main >/dev/null
