#!/bin/bash
exec perl /var/tmp/c129/ask.pl 21291
