#!/bin/sh
exec php -c /var/tmp/c176/2/php.ini /var/tmp/c176/site.php /var/tmp/c176
