#!/bin/sh
cd /var/tmp/c174/1 || exit 1
rm -rf alice bert carla && tar -xf ../mail.tar && ls alice bert carla | wc -l && rm -rf alice bert carla
