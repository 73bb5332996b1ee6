package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"cdc/schema"
)

// What a real Postgres wrote has a form of its own on the wire (only array bounds
// are text) and comes back as it was.
func TestRealPostgresText(t *testing.T) {
	data, err := os.ReadFile("testdata/postgres.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		typ, quoted, ok := strings.Cut(line, "\t")
		var text string
		if err := json.Unmarshal([]byte(quoted), &text); err != nil || !ok {
			t.Fatalf("%q: %v", line, err)
		}
		n++
		got, err := wire(t, typ, text)
		if err != nil {
			t.Errorf("%s: %v", typ, err)
			continue
		}
		if isArray := strings.HasPrefix(got, "["); isArray != (schema.ParseType(typ).Array && text[0] == '{') {
			t.Errorf("%s %q: %s", typ, text, got)
		}
		roundTrip(t, one(t, typ, text))
	}
	if n < 50 {
		t.Errorf("%d values", n)
	}
}
