package schema_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

func TestPositionTextOrder(t *testing.T) {
	r := seeded(t)
	for range 20_000 {
		p, q := schematest.Position(r), schematest.Position(r)
		if r.IntN(2) == 0 { // neighbours
			q = p
			switch r.IntN(5) {
			case 0:
				q.Epoch++
			case 1:
				q.CommitLSN++
			case 2:
				q.ChangeLSN++
			case 3:
				q.Index++
			}
		}
		if got, want := p.Compare(q), cmp.Compare(p.String(), q.String()); got != want || p.Less(q) != (want < 0) || q.Compare(p) != -want {
			t.Fatalf("Compare(%s, %s) = %d, as text %d", p, q, got, want)
		}
		back, err := schema.ParsePosition(p.String())
		if err != nil || back != p || len(p.String()) != schema.PositionLen {
			t.Fatalf("%s: %v %v", p, back, err)
		}
	}
	if !(schema.Position{}).IsZero() || schema.MaxPosition.IsZero() || !(schema.Position{}).Less(schema.Position{Index: 1}) {
		t.Error("zero isn't the lowest")
	}
	if got := schema.MaxPosition.String(); got != "FFFFFFFF/FFFFFFFFFFFFFFFF/FFFFFFFFFFFFFFFF/FFFFFFFF" {
		t.Error(got)
	}
}

func TestPositionIsStrict(t *testing.T) {
	const good = "695735A5/00000016B374D848/00000016B374D000/00000001"
	var p schema.Position
	if err := p.UnmarshalText([]byte(good)); err != nil || p.String() != good {
		t.Fatal(p, err)
	}
	for _, bad := range []string{
		"", good[1:], good + "0", strings.ToLower(good), strings.Replace(good, "/", "-", 1),
		strings.Replace(good, "6", " ", 1), strings.Replace(good, "6", "+", 1), strings.Replace(good, "A", "G", 1), "0x" + good[2:],
	} {
		if _, err := schema.ParsePosition(bad); !errors.Is(err, schema.ErrPosition) {
			t.Errorf("%q: %v", bad, err)
		}
		if _, err := schema.ParsePosition([]byte(bad)); !errors.Is(err, schema.ErrPosition) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLSN(t *testing.T) {
	for _, s := range []string{"0/0", "16/B374D848", "FFFFFFFF/FFFFFFFF", "0/1"} {
		if l, err := schema.ParseLSN(s); err != nil || l.String() != s {
			t.Errorf("%s: %s, %v", s, l, err)
		}
	}
	for _, s := range []string{"", "0", "/", "1/", "/1", "1/2/3", "g/0", "100000000/0", "-1/0", "0/ 1"} {
		if l, err := schema.ParseLSN(s); err == nil {
			t.Errorf("%q was read as %s", s, l)
		}
	}
}
