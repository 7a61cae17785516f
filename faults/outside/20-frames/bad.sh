#!/bin/sh
cd "$(dirname "$0")" || exit 3
. ./tuning.env
exec ./frames
