#!/bin/bash
exec /var/tmp/c85/svc /var/tmp/c85/cape.service /var/tmp/c85/blink 2200
