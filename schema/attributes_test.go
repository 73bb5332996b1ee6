package schema_test

import (
	"errors"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"

	"github.com/google/go-cmp/cmp"
)

// collect returns the attributes as the wire has them.
func collect(a *schema.Attributes) (names []string, values map[string]string) {
	values = make(map[string]string)
	a.Each(func(name string, value []byte) {
		names = append(names, name)
		values[name] = string(value)
	})
	return names, values
}

func TestAttributesRoundTrip(t *testing.T) {
	c := wireExample(t)
	sent := schematest.AttributesOf(c[0])
	sent.Sent = 1_767_323_045_130_001
	for name, a := range map[string]schema.Attributes{
		"change": schematest.AttributesOf(c[0]), "sent": sent, "batch": schematest.BatchAttributes(c),
		"outbox": outboxAttributes(outbox()), "request": requestAttributes(requests()["all"]),
		"heartbeat": controlAttributes(controls(c[0].Table)[6]),
	} {
		names, values := collect(&a)
		var d schema.Decoder
		var got schema.Attributes
		for n, v := range values {
			if err := d.Attribute(&got, []byte(n), []byte(v)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if diff := cmp.Diff(a, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
		if _, ok := values[schema.AttrSent]; ok != (a.Sent != 0) || len(names) != len(values) {
			t.Errorf("%s: %v", name, names)
		}
	}
	names, _ := collect(&sent)
	if got := strings.Join(names, " "); got != "v database schema table op position count content_type source_id sent" {
		t.Error(got)
	}
	request := requestAttributes(requests()["all"])
	names, _ = collect(&request)
	if got := strings.Join(names, " "); got != "v database schema table op content_type" {
		t.Error(got)
	}
}

func TestAttributeIsStrict(t *testing.T) {
	var d schema.Decoder
	var a schema.Attributes
	for _, test := range []struct {
		name, value string
		want        error
	}{
		{"v", "2", schema.ErrVersion},
		{"v", "", schema.ErrVersion},
		{"v", "01", schema.ErrVersion},
		{"op", "", schema.ErrField},
		{"op", "cc", schema.ErrField},
		{"position", "1/2/3/4", schema.ErrField},
		{"count", "0", schema.ErrField},
		{"count", "-1", schema.ErrField},
		{"count", "x", schema.ErrField},
		{"count", strings.Repeat("9", 100), schema.ErrField},
		{"count", "100001", schema.ErrTooManyChanges},
		{"source_id", "x", schema.ErrField},
		{"source_id", "", schema.ErrField},
		{"sent", "yesterday", schema.ErrField},
		{"database", "\xff", schema.ErrField},
		{"table", strings.Repeat("x", 1025), schema.ErrField},
		{"error_code", "anything", nil},
	} {
		if err := d.Attribute(&a, []byte(test.name), []byte(test.value)); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

func TestAttributesAllocs(t *testing.T) {
	a := schematest.AttributesOf(schematest.TenColumns())
	a.Sent = 1_767_323_045_130_001
	var d schema.Decoder
	var got schema.Attributes
	scratch := make([]byte, 0, 256)
	var err error
	decode := func(name string, value []byte) {
		switch name { // the names come from the wire, too
		case schema.AttrTable:
			err = errors.Join(err, d.Attribute(&got, tableName, value))
		default:
			err = errors.Join(err, d.Attribute(&got, positionName[:0], value))
		}
	}
	if n := testing.AllocsPerRun(200, func() { a.EachIn(scratch, decode) }); n != 0 || err != nil {
		t.Errorf("%v allocations, %v", n, err)
	}
	if got.Table != a.Table {
		t.Error(got.Table)
	}
}

var tableName, positionName = []byte(schema.AttrTable), []byte(schema.AttrPosition)
