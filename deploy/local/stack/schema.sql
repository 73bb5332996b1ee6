CREATE TABLE customers (
	id         bigint PRIMARY KEY,
	name       text NOT NULL,
	email      varchar(200),
	active     boolean NOT NULL,
	balance    numeric(12,2) NOT NULL,
	score      double precision,
	born       date,
	wakes      time,
	joined     timestamptz NOT NULL,
	seen       timestamp,
	avatar     bytea,
	settings   jsonb,
	tags       text[] NOT NULL,
	token      uuid
);
CREATE TABLE orders (
	shop       text,
	number     integer,
	customer   bigint NOT NULL,
	state      text NOT NULL,
	total      numeric(10,2) NOT NULL,
	lines      integer NOT NULL,
	changed    timestamptz NOT NULL,
	PRIMARY KEY (shop, number)
);
CREATE TABLE counters (
	name       text PRIMARY KEY,
	value      bigint NOT NULL,
	note       text
);
