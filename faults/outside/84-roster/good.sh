#!/bin/bash
. /var/tmp/c84/amber.env
exec /var/tmp/c84/shift 500
