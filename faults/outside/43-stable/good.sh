#!/bin/sh
cd "$(dirname "$0")" || exit 3
cd a && find . -type f -print0 | xargs -0 md5sum > /dev/null
