package schema_test

import (
	"bytes"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"
)

func TestFixtureRoundTrip(t *testing.T) {
	for _, c := range []*schema.Change{schematest.EveryType(), schematest.TenColumns()} {
		var e schema.Encoder
		body, err := e.AppendChange(nil, c)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s", body)
		var d schema.Decoder
		a := schematest.AttributesOf(c)
		if err := d.Changes(&a, body); err != nil {
			t.Fatal(err)
		}
		var got schema.Change
		if !d.Next(&got) {
			t.Fatal(d.Err())
		}
		again, err := e.AppendChange(nil, &got)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again, body) {
			t.Errorf("\n%s\n%s", body, again)
		}
		for i, v := range got.After {
			if string(v.Text) != string(c.After[i].Text) {
				t.Errorf("%s: %q, want %q", c.Table.Columns[i].Name, v.Text, c.After[i].Text)
			}
		}
		if d.Next(&got) || d.Err() != nil {
			t.Fatal(d.Err())
		}
	}
}

func TestAllocs(t *testing.T) {
	for _, c := range []*schema.Change{schematest.EveryType(), schematest.TenColumns()} {
		var e schema.Encoder
		var body []byte
		var err error
		if n := testing.AllocsPerRun(200, func() { body, err = e.AppendChange(body[:0], c) }); n != 0 || err != nil {
			t.Errorf("encode: %v allocations, %v", n, err)
		}
		var d schema.Decoder
		var got schema.Change
		a := schematest.AttributesOf(c)
		if n := testing.AllocsPerRun(200, func() {
			if d.Changes(&a, body) != nil || !d.Next(&got) || d.Next(&got) || d.Err() != nil {
				t.Fatal(d.Err())
			}
		}); n != 0 {
			t.Errorf("decode: %v allocations", n)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	c := schematest.TenColumns()
	var e schema.Encoder
	body, _ := e.AppendChange(nil, c)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		body, _ = e.AppendChange(body[:0], c)
	}
	b.ReportMetric(float64(len(body)), "bytes/message")
}

func BenchmarkDecode(b *testing.B) {
	c := schematest.TenColumns()
	var e schema.Encoder
	body, _ := e.AppendChange(nil, c)
	a := schematest.AttributesOf(c)
	var d schema.Decoder
	var got schema.Change
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if d.Changes(&a, body) != nil || !d.Next(&got) {
			b.Fatal(d.Err())
		}
	}
	b.ReportMetric(float64(len(body)), "bytes/message")
}
