#!/bin/bash
. /var/tmp/c84/coral.env
exec /var/tmp/c84/shift 500
