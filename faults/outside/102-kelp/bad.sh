#!/bin/bash
exec /var/tmp/c102/launch /var/tmp/c102/standby.profile /var/tmp/c102/pacer 1200
