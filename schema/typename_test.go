package schema_test

import (
	"testing"

	"cdc/schema"

	"github.com/google/go-cmp/cmp"
)

func TestParseType(t *testing.T) {
	for _, test := range []struct {
		text string
		want schema.Type
	}{
		{"integer", schema.Type{Base: "integer"}},
		{"integer[]", schema.Type{Base: "integer", Array: true}},
		{"double precision", schema.Type{Base: "double precision"}},
		{"numeric(10,2)", schema.Type{Base: "numeric", Mods: []int{10, 2}}},
		{"numeric(3,-2)", schema.Type{Base: "numeric", Mods: []int{3, -2}}},
		{"numeric(10,2)[]", schema.Type{Base: "numeric", Mods: []int{10, 2}, Array: true}},
		{"character varying(20)[]", schema.Type{Base: "character varying", Mods: []int{20}, Array: true}},
		{"character varying", schema.Type{Base: "character varying"}},
		{"character(6)", schema.Type{Base: "character", Mods: []int{6}}},
		{"bpchar", schema.Type{Base: "bpchar"}},
		{"bit(3)", schema.Type{Base: "bit", Mods: []int{3}}},
		{`"bit"`, schema.Type{Base: `"bit"`}},
		{"bit varying(8)", schema.Type{Base: "bit varying", Mods: []int{8}}},
		{"timestamp with time zone", schema.Type{Base: "timestamp with time zone"}},
		{"timestamp(3) with time zone", schema.Type{Base: "timestamp with time zone", Mods: []int{3}}},
		{"timestamp(0) without time zone[]", schema.Type{Base: "timestamp without time zone", Mods: []int{0}, Array: true}},
		{"time(6) without time zone", schema.Type{Base: "time without time zone", Mods: []int{6}}},
		{"time with time zone", schema.Type{Base: "time with time zone"}},
		{"interval", schema.Type{Base: "interval"}},
		{"interval(3)", schema.Type{Base: "interval", Mods: []int{3}}},
		{"interval day to second(3)", schema.Type{Base: "interval", Mods: []int{3}}},
		{"interval year to month[]", schema.Type{Base: "interval", Array: true}},
		{`"char"`, schema.Type{Base: `"char"`}},
		{`"char"[]`, schema.Type{Base: `"char"`, Array: true}},
		{"public.mood", schema.Type{Base: "public.mood"}},
		{`public."My Type"`, schema.Type{Base: `public."My Type"`}},
		{`"my schema"."My ""Type""(1)"[]`, schema.Type{Base: `"my schema"."My ""Type""(1)"`, Array: true}},
		{`"odd[]"`, schema.Type{Base: `"odd[]"`}},
		{`"odd(3)"`, schema.Type{Base: `"odd(3)"`}},
		{"public.vector(3)", schema.Type{Base: "public.vector", Mods: []int{3}}},
		{"public.geometry(Point,4326)", schema.Type{Base: "public.geometry(Point,4326)"}},
		{"public.geometry(Point,4326)[]", schema.Type{Base: "public.geometry(Point,4326)", Array: true}},
		{"", schema.Type{}},
		{"a(1)(2)", schema.Type{Base: "a(1)(2)"}},
		{"a(1", schema.Type{Base: "a(1"}},
		{"a()", schema.Type{Base: "a()"}},
		{"???", schema.Type{Base: "???"}},
		{"-", schema.Type{Base: "-"}},
	} {
		if diff := cmp.Diff(test.want, schema.ParseType(test.text)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", test.text, diff)
		}
	}
}
