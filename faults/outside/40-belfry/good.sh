#!/bin/sh
cd "$(dirname "$0")" || exit 3
exec ./post 0
