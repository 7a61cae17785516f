#!/bin/bash
cd "$(dirname "$0")" || exit 3
trap 'bash teardown.sh >&2' EXIT
bash setup.sh >&2 && plimsoll compare --explain 'bash good.sh' 'bash bad.sh'
