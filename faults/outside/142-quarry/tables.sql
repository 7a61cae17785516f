create database shop; use shop;
create table names1(code varchar(24) character set utf8mb4 collate utf8mb4_general_ci not null, title varchar(60), key(code)) engine=InnoDB;
create table names2(code varchar(24) character set latin1 not null, title varchar(60), key(code)) engine=InnoDB;
create table sales(id int primary key, code varchar(24) character set utf8mb4 collate utf8mb4_general_ci not null, amount int, note varchar(80)) engine=InnoDB;
insert into names1 select concat('item-', seq), concat('title ', seq) from seq_1_to_2600;
insert into names2 select code, title from names1;
insert into sales select seq, concat('item-', 1 + seq * 7 % 2600), seq * 13 % 977, concat('n', seq * 31 % 21000, ' of the day') from seq_1_to_24000;
analyze table names1, names2, sales;
