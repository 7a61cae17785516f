#!/bin/bash
exec /var/tmp/c85/svc /var/tmp/c85/reef.service /var/tmp/c85/blink 2200
