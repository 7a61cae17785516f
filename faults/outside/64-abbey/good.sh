#!/bin/sh
cd "$(dirname "$0")" || exit 3
for i in 1 2 3; do ./image-a || exit 1; done
