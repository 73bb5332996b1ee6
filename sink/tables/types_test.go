package tables

import "testing"

func TestColumnType(t *testing.T) {
	tests := []struct {
		pg       string
		want     Type
		repeated bool
		inKey    Type
	}{
		{"boolean", Bool, false, Bool},
		{"smallint", Int64, false, Int64},
		{"integer", Int64, false, Int64},
		{"bigint", Int64, false, Int64},
		{"oid", Int64, false, Int64},
		{"real", Float64, false, String},
		{"double precision", Float64, false, String},
		{"numeric", BigNumeric, false, BigNumeric},
		{"numeric(38,9)", Numeric, false, Numeric},
		{"numeric(29,0)", Numeric, false, Numeric},
		{"numeric(30,0)", BigNumeric, false, BigNumeric},
		{"numeric(30,10)", BigNumeric, false, BigNumeric},
		{"numeric(76,38)", BigNumeric, false, BigNumeric},
		{"numeric(77,38)", String, false, String},
		{"numeric(40,39)", String, false, String},
		{"numeric(5,-2)", Numeric, false, Numeric},
		{"numeric(3,5)", Numeric, false, Numeric},
		{"money", String, false, String},
		{"time with time zone", String, false, String},
		{"interval", String, false, String},
		{"interval day to second(3)", String, false, String},
		{"inet", String, false, String},
		{"cidr", String, false, String},
		{"macaddr", String, false, String},
		{"bit(8)", String, false, String},
		{"bit varying(8)", String, false, String},
		{"xml", String, false, String},
		{"tsvector", String, false, String},
		{"pg_lsn", String, false, String},
		{"int4range", String, false, String},
		{"tstzmultirange", String, false, String},
		{"public.address", String, false, String},
		{"point", String, false, String},
		{"public.geometry(Point,4326)", String, false, String},
		{"text", String, false, String},
		{"character varying(50)", String, false, String},
		{"character(3)", String, false, String},
		{`"char"`, String, false, String},
		{"public.citext", String, false, String},
		{"name", String, false, String},
		{"public.mood", String, false, String},
		{"uuid", String, false, String},
		{"json", JSON, false, String},
		{"jsonb", JSON, false, String},
		{"public.hstore", JSON, false, String},
		{"ext.hstore", JSON, false, String},
		{"bytea", Bytes, false, Bytes},
		{"date", Date, false, Date},
		{"timestamp without time zone", DateTime, false, DateTime},
		{"timestamp(3) without time zone", DateTime, false, DateTime},
		{"timestamp with time zone", Timestamp, false, Timestamp},
		{"timestamp(0) with time zone", Timestamp, false, Timestamp},
		{"time without time zone", Time, false, String},
		{"time(6) without time zone", Time, false, String},
		{"integer[]", Int64, true, String},
		{"numeric(10,2)[]", Numeric, true, String},
		{"text[]", String, true, String},
		{"jsonb[]", JSON, true, String},
		{"public.vector(3)", Float64, true, String},
		{"public.vector[]", JSON, false, String},
		{`public."odd[]"`, String, false, String},
	}
	for _, tt := range tests {
		got, repeated := columnType(tt.pg, false)
		if got != tt.want || repeated != tt.repeated {
			t.Errorf("columnType(%q) = %s, repeated %t; want %s, %t", tt.pg, got, repeated, tt.want, tt.repeated)
		}
		if got, repeated := columnType(tt.pg, true); got != tt.inKey || repeated {
			t.Errorf("columnType(%q) in a key = %s, repeated %t; want %s", tt.pg, got, repeated, tt.inKey)
		}
	}
}
