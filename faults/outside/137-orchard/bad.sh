#!/bin/sh
export HOME=/var/tmp/c137 GIT_CONFIG_NOSYSTEM=1
cd /var/tmp/c137/2 || exit 1
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  git --no-optional-locks status --porcelain || exit 1
  git rev-parse HEAD^{tree} || exit 1
  git ls-tree -r HEAD | cksum || exit 1
done
