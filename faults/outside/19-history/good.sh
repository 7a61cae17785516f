#!/bin/sh
cd "$(dirname "$0")" || exit 3
git -C packed rev-list --objects --all | cut -c1-40 | git -C packed cat-file --batch-check | sort | md5sum
