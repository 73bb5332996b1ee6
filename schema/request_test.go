package schema_test

import (
	"errors"
	"strings"
	"testing"

	"cdc/schema"
	"cdc/schema/schematest"

	"github.com/google/go-cmp/cmp"
)

func requests() map[string]*schema.Request {
	base := func() *schema.Request {
		return &schema.Request{ID: "r-1", Schema: "public", Table: "items", Reason: "expired"}
	}
	keys, chunk, all := base(), base(), base()
	keys.Keys = []schema.RequestKey{
		{"id": schema.RequestValue("1"), "day": schema.RequestValue(`"2026-01-02"`)},
		{"id": schema.RequestValue("2"), "day": schema.RequestValue(`"a,\\\""`)},
	}
	chunk.Chunk = &schema.RequestChunk{Plan: "p1", Chunk: 7}
	all.All = true
	return map[string]*schema.Request{"keys": keys, "chunk": chunk, "all": all}
}

func requestAttributes(r *schema.Request) schema.Attributes {
	return schema.Attributes{Version: 1, Database: "shop", Schema: r.Schema, Table: r.Table, Op: schema.RequestOp, ContentType: schema.ContentJSON}
}

func TestRequestRoundTrip(t *testing.T) {
	for name, r := range requests() {
		body, err := schema.AppendRequest(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := schema.ParseRequest(body)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, body)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

func TestRequestRefuses(t *testing.T) {
	const head = `{"v":1,"id":"r","schema":"s","table":"t","reason":"x",`
	for _, test := range []struct {
		body string
		want error
	}{
		{head + `"all":true,"chunk":{"plan":"p","chunk":1}}`, schema.ErrField},
		{head + `"all":false}`, schema.ErrField},
		{head + `"keys":[]}`, schema.ErrField},
		{head + `"keys":[{}]}`, schema.ErrField},
		{head + `"keys":[1]}`, schema.ErrField},
		{head + `"keys":[{"a":1,"a":2}]}`, schema.ErrDuplicate},
		{head + `"chunk":{"plan":"p","chunk":-1}}`, schema.ErrField},
		{head + `"chunk":{"plan":"p","chunk":1e999999}}`, schema.ErrField},
		{head + `"chunk":{"plan":"` + strings.Repeat("p", schema.MaxPlanBytes+1) + `","chunk":1}}`, schema.ErrField},
		{strings.Replace(head, `"id":"r"`, `"id":""`, 1) + `"all":true}`, schema.ErrField},
		{strings.Replace(head, `"table":"t"`, `"table":""`, 1) + `"all":true}`, schema.ErrField},
		{head + `"chunk":{"plan":"p","chunk":1,"x":1}}`, schema.ErrUnknown},
		{head + `"all":true,"all":true}`, schema.ErrDuplicate},
		{head + `"all":true,"x":1}`, schema.ErrUnknown},
		{head + `"all":true}x`, schema.ErrTrailing},
		{strings.Replace(head, `"v":1`, `"v":2`, 1) + `"all":true}`, schema.ErrVersion},
		{`{"v":1,"all":true}`, schema.ErrField},
		{``, schema.ErrSyntax},
		{`[]`, schema.ErrField},
		{head + `"keys":[{"a":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}]}`, schema.ErrNesting},
		{head + `"keys":[` + strings.Repeat(`{"a":1},`, schema.MaxChanges) + `{"a":1}]}`, schema.ErrTooManyChanges},
		{head + "\"all\":true,\"\xff\":1}", schema.ErrUTF8},
		{strings.Repeat(" ", schema.MaxMessageBytes) + head, schema.ErrTooLarge},
	} {
		if _, err := schema.ParseRequest([]byte(test.body)); !errors.Is(err, test.want) {
			t.Errorf("%.120s: %v, want %v", test.body, err, test.want)
		}
	}
	many := make([]schema.RequestKey, schema.MaxChanges+1)
	for i := range many {
		many[i] = schema.RequestKey{"a": schema.RequestValue("1")}
	}
	if _, err := schema.AppendRequest(nil, &schema.Request{ID: "r", Schema: "s", Table: "t", Keys: many}); !errors.Is(err, schema.ErrTooManyChanges) {
		t.Errorf("%d keys: %v", len(many), err)
	}
	for _, r := range []*schema.Request{
		{},
		{ID: "r", Schema: "s", Table: "t"},
		{ID: "r", Schema: "s", Table: "t", Keys: []schema.RequestKey{{"a": schema.RequestValue("{")}}},
	} {
		if _, err := schema.AppendRequest(nil, r); err == nil {
			t.Errorf("%+v was encoded", r)
		}
	}
}

// The sink turns a row's key into a request, the publisher turns it back.
func TestRequestedKeys(t *testing.T) {
	r := seeded(t)
	for range 300 {
		table := schematest.Table(r)
		key := table.KeyOf(nil, schematest.Row(r, table))
		asked, err := table.RequestKey(key)
		if err != nil {
			t.Fatal(err)
		}
		body, err := schema.AppendRequest(nil, &schema.Request{ID: "r", Schema: "s", Table: "t", Keys: []schema.RequestKey{asked}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := schema.ParseRequest(body)
		if err != nil {
			t.Fatal(err)
		}
		row, err := table.KeyRow(got.Keys[0])
		if err != nil {
			t.Fatal(err)
		}
		if string(schema.AppendKey(nil, row)) != string(schema.AppendKey(nil, key)) {
			t.Fatalf("%q, want %q", row, key)
		}
	}
}

func TestKeyRowRefuses(t *testing.T) {
	table := one(t, "text", "x").Table
	for _, test := range []struct {
		key  schema.RequestKey
		want error
	}{
		{nil, schema.ErrField},
		{schema.RequestKey{"v": schema.RequestValue("1")}, schema.ErrField},
		{schema.RequestKey{"id": schema.RequestValue("1"), "v": schema.RequestValue("1")}, schema.ErrField},
		{schema.RequestKey{"id": schema.RequestValue(`"abc"`)}, schema.ErrValue},
		{schema.RequestKey{"id": schema.RequestValue("1.5")}, schema.ErrValue},
		{schema.RequestKey{"id": schema.RequestValue("1e999999")}, schema.ErrValue},
		{schema.RequestKey{"id": schema.RequestValue("null")}, schema.ErrValue},
		{schema.RequestKey{"id": schema.RequestValue("{}")}, schema.ErrValue},
		{schema.RequestKey{"id": schema.RequestValue("1 1")}, schema.ErrTrailing},
		{schema.RequestKey{"id": nil}, schema.ErrSyntax},
	} {
		if _, err := table.KeyRow(test.key); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.key, err, test.want)
		}
	}
}
