#!/bin/sh
set -e
cd "$(dirname "$0")"; rm -rf made; mkdir made
python3 gen.py "$PWD/made"
