#!/bin/sh
cd "$(dirname "$0")" || exit 3
for i in 1 2 3; do git -C a.git cat-file --batch < ids > /dev/null || exit 1; done
