#!/bin/bash
exec curl -s -K /var/tmp/c80/list8081
