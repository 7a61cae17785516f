#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec node check.js rules-a.json
