#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec plimsoll run case.toml --quick --yes
