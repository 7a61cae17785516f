#!/bin/bash
exec setpriv --reuid=21282 --regid=21282 --clear-groups bash /var/tmp/c128/job.sh
