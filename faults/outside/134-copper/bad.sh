#!/bin/bash
exec /var/tmp/c134/box /var/tmp/c134/ext.rules bash /var/tmp/c134/sweep.sh
