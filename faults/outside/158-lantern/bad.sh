#!/bin/sh
exec node /var/tmp/c158/two.js
