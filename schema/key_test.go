package schema_test

import (
	"strings"
	"testing"

	"cdc/schema"
)

func keyRow(values ...string) (row schema.Row) {
	for _, v := range values {
		row = append(row, schema.TextValue(v))
	}
	return row
}

func TestCanonicalKey(t *testing.T) {
	for _, test := range []struct {
		key  schema.Row
		want string
	}{
		{keyRow("1"), "1"},
		{keyRow("a", "b"), "a,b"},
		{keyRow("a,b"), `a\,b`},
		{keyRow(`a\`, "b"), `a\\,b`},
		{keyRow("", ""), ","},
		{keyRow(), ""},
	} {
		if got := string(schema.AppendKey([]byte("x"), test.key)); got != "x"+test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

func TestOrderingKeyLength(t *testing.T) {
	table := &schema.Table{Schema: "public", Name: "t"}
	room := schema.MaxOrderingKey - len("public.t|")
	exact := string(schema.AppendOrderingKey(nil, table, keyRow(strings.Repeat("k", room))))
	if exact != "public.t|"+strings.Repeat("k", room) || len(exact) != 1024 {
		t.Errorf("%d bytes", len(exact))
	}
	long := string(schema.AppendOrderingKey([]byte("before "), table, keyRow(strings.Repeat("k", room+1))))
	if want := "before public.t|sha256:a844e833b342c5e51d6da5fb64b6c9a288c526c0b8074d4b709f1774ed7b1b34"; long != want {
		t.Errorf("%s", long)
	}
	// Each escaped byte counts twice.
	if got := string(schema.AppendOrderingKey(nil, table, keyRow(strings.Repeat(",", room/2+1)))); !strings.HasPrefix(got, "public.t|sha256:") {
		t.Errorf("%.60s", got)
	}
}

func TestBucketKeys(t *testing.T) {
	table := &schema.Table{Schema: "public", Name: "orders"}
	for _, test := range []struct {
		key  schema.Row
		n    uint64
		want string
	}{
		{keyRow("1"), 1024, "public.orders|1024/225"},
		{keyRow("2"), 1024, "public.orders|1024/750"},
		{keyRow("a,b", "c"), 1024, "public.orders|1024/89"},
		{keyRow("1"), 7, "public.orders|7/2"},
		{keyRow("1"), 1, "public.orders|1/0"},
	} {
		if got := string(schema.AppendBucketKey([]byte("x "), table, test.n, test.key)); got != "x "+test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
	if got := string(schema.AppendTableKey(nil, table)); got != "public.orders|" {
		t.Error(got)
	}
}

func FuzzCanonicalKey(f *testing.F) {
	f.Add("a,b", "c", "a", "b,c")
	f.Add(`\`, ",", `\,`, "")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		one, two := keyRow(a, b), keyRow(c, d)
		same := string(schema.AppendKey(nil, one)) == string(schema.AppendKey(nil, two))
		if same != (a == c && b == d) {
			t.Errorf("%q and %q: same text %v", []string{a, b}, []string{c, d}, same)
		}
	})
}
