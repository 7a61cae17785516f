select day % 7, sum(n), count(distinct item) from sale group by 1 order by 1 limit 2;
select sum(n * price_of(item)) from sale where day between 77 and 78 and id % 8 = 0;
