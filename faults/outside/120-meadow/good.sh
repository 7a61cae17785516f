#!/bin/bash
exec make -s -B -C /var/tmp/c120/tree1
