#!/bin/bash
exec /var/tmp/c134/box /var/tmp/c134/std.rules bash /var/tmp/c134/sweep.sh
