#!/bin/sh
rm -rf "$(dirname "$0")/made"
