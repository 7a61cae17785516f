#!/bin/bash
cd /var/tmp/c89/bronze && make -s clean && exec make -s -j2
