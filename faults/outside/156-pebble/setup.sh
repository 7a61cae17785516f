#!/bin/bash
set -e
here=$(cd "$(dirname "$0")" && pwd)
w=/var/tmp/c156; rm -rf $w; mkdir -p $w/one; cd $w/one
export HOME=$w GIT_CONFIG_NOSYSTEM=1
git init -q --bare -b main .
python3 "$here/gen.py" 700 | git fast-import --quiet
git config pack.threads 1
git repack -q -a -d -f --depth=200 --window=20
git config gc.auto 0
cp -a $w/one $w/two
git -C $w/one config core.deltaBaseCacheLimit 64m
git -C $w/two config core.deltaBaseCacheLimit 640k
