#!/bin/bash
cd /var/tmp/c89/pewter && make -s clean && exec make -s -j2
