#!/bin/bash
exec perl /var/tmp/c72/take.pl /var/tmp/c72/one
