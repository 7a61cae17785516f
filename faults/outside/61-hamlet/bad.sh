#!/bin/sh
cd "$(dirname "$0")" || exit 3
for i in 1 2 3; do ssh -F none -n -p 7022 -i user_key -o IdentitiesOnly=yes -o UpdateHostKeys=no -o GlobalKnownHostsFile=none -o UserKnownHostsFile=$PWD/known-b -o StrictHostKeyChecking=yes root@127.0.0.1 true || exit 1; done
