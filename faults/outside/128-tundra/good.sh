#!/bin/bash
exec setpriv --reuid=21281 --regid=21281 --clear-groups bash /var/tmp/c128/job.sh
