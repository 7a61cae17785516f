#!/bin/sh
export HOME=/var/tmp/c156 GIT_CONFIG_NOSYSTEM=1
cd /var/tmp/c156/one && git log --format=%h --numstat main | tail -1
