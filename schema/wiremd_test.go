package schema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWireDocument(t *testing.T) {
	data, err := os.ReadFile("WIRE.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	_, block, ok := strings.Cut(doc, "```ndjson\n")
	block, _, ok2 := strings.Cut(block, "\n```")
	if want := string(encode(t, wireExample(t)...).Data); !ok || !ok2 || block != want {
		t.Errorf("the example isn't what the encoder writes:\n%s", want)
	}
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, body, _ := strings.Cut(string(text), "\n\n")
		for line := range strings.SplitSeq(head, "\n") {
			name, _, _ := strings.Cut(line, ":")
			documented(t, doc, file, name)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(body), "\n") {
			var fields map[string]any
			if err := json.Unmarshal([]byte(line), &fields); err != nil {
				t.Fatal(err)
			}
			for name, value := range fields {
				documented(t, doc, file, name)
				documentedFields(t, doc, file, name, value)
			}
		}
	}
}

// documentedFields looks into the objects that aren't rows or keys.
func documentedFields(t *testing.T, doc, file, name string, value any) {
	fields, ok := value.(map[string]any)
	if !ok || name == "before" || name == "after" || name == "key" || name == "previous_key" {
		return
	}
	for name, value := range fields {
		documented(t, doc, file, name)
		documentedFields(t, doc, file, name, value)
	}
}

func documented(t *testing.T, doc, file, name string) {
	if !strings.Contains(doc, "`"+name+"`") {
		t.Errorf("%s: WIRE.md doesn't name %q", file, name)
	}
}
