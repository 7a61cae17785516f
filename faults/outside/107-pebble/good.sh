#!/bin/bash
exec make -s -B -C /var/tmp/c107/t1
