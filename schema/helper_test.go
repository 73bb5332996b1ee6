package schema_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"cdc/schema"
	"cdc/schema/schematest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var (
	seedFlag = flag.Uint64("seed", 0, "seed of the property tests; 0 takes the clock's")
	update   = flag.Bool("update", false, "write the golden files anew")
)

// seeded returns a source of random numbers and prints its seed.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// sameTables compares Tables without what the codec precomputes.
var sameTables = cmpopts.IgnoreUnexported(schema.Table{})

func encode(t testing.TB, changes ...*schema.Change) *schema.Message {
	t.Helper()
	m, err := schematest.Message(changes...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func decode(t testing.TB, m *schema.Message) []*schema.Change {
	t.Helper()
	list, err := schematest.Decode(m)
	if err != nil {
		t.Fatalf("%v\n%s", err, m.Data)
	}
	return list
}

// roundTrip checks decode(encode(c)) = c and encode(decode(bytes)) = bytes.
func roundTrip(t testing.TB, changes ...*schema.Change) {
	t.Helper()
	m := encode(t, changes...)
	got := decode(t, m)
	var want []*schema.Change
	for _, c := range changes {
		want = append(want, schematest.Normal(c))
	}
	if diff := cmp.Diff(want, got, sameTables); diff != "" {
		t.Fatalf("decode(encode(c)) (-want +got):\n%s\n%s", diff, m.Data)
	}
	if again := encode(t, got...); string(again.Data) != string(m.Data) {
		t.Fatalf("encode(decode(bytes)):\n%s\n%s", m.Data, again.Data)
	}
}

// one returns a change of a table with a key column id and a column v of the type.
func one(t testing.TB, typ, text string) *schema.Change {
	t.Helper()
	c := schematest.TenColumns()
	table := *c.Table
	table.Columns = []schema.Column{{Name: "id", Type: "bigint", AttNum: 1}, {Name: "v", Type: typ, AttNum: 2}}
	made, err := schema.NewTable(table)
	if err != nil {
		t.Fatal(err)
	}
	c.Table = made
	c.After = schema.Row{schema.TextValue("1"), schema.TextValue(text)}
	c.Key = made.KeyOf(nil, c.After)
	return c
}
