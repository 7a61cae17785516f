#!/bin/bash
for i in {1..120}; do export ACCOUNT_SETTING_$i=value-$i; done
exec unshare --pid --fork --mount-proc --ipc --uts /var/tmp/c155/accountd /var/tmp/c155/report.rb 600 4 120
