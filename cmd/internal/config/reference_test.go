package config

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestReference holds deploy/CONFIG.md to the structs, their comments, tags and
// defaults.
func TestReference(t *testing.T) {
	golden(t, "../../../deploy/CONFIG.md", referencePage(t))
}

func referencePage(t *testing.T) []byte {
	docs := comments(t)
	var b bytes.Buffer
	b.WriteString(`# The configuration file

One YAML file for each database, read by both services; ` + "`config.example.yaml`" + ` shows every key. This page is generated from the structs of
` + "`cmd/internal/config`" + ` (` + "`go test ./cmd/internal/config -update`" + `), as is ` + "`config.schema.json`" + ` for editors.

The file is read strictly. An unknown key, a repeated key, a wrong type or a value out of range is a finding; all findings come at once,
with line and column, and a file with a finding isn't used (exit code 2). ` + "`check --config-only`" + ` checks a file without connecting to anything.

- A **duration** has its unit: ` + "`500ms`, `30s`, `10m`, `24h`, `90d`" + `.
- A **size** has its unit: ` + "`256MiB`, `8MB`" + `.
- A **secret** is ` + "`file:/path`, `${NAME}`" + ` (an environment variable), or, for the connection string, a text with ` + "`${NAME}`" + ` in the place of
  the password. It is read when it is used, by the service that uses it.
- Anchors, aliases, tags and more than one document aren't read.

What a later version brings is accepted in a file, named by ` + "`check --config-only`" + ` and refused by ` + "`run`, `init`" + ` and the full ` + "`check`" + `.
`)
	d := Default("DATABASE")
	section(&b, docs, reflect.ValueOf(d).Elem(), "", "The file")
	b.WriteString("\n`DATABASE` in a default is the value of `database`, with `_` for `-` in names of Postgres and BigQuery.\n")
	return b.Bytes()
}

// section writes a table of v's keys, then the sections among them.
func section(b *bytes.Buffer, docs map[string]string, v reflect.Value, path, title string) {
	fmt.Fprintf(b, "\n## %s\n\n| key | value | default | meaning |\n|---|---|---|---|\n", title)
	type sub struct {
		v    reflect.Value
		path string
	}
	var subs []sub
	for f := range fieldsOf(v.Type()) {
		p := join(path, f.key)
		x := v.FieldByIndex(f.Index)
		doc := docs[owner(v.Type(), f.StructField)+"."+f.Name]
		value, inner := notation(f.StructField)
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.key, value, defaultText(f.StructField, x, inner != nil), doc)
		switch {
		case inner == nil:
		case f.Type.Kind() == reflect.Slice:
			subs = append(subs, sub{reflect.New(inner).Elem(), p + "[]"})
		case f.Type.Kind() == reflect.Map:
			subs = append(subs, sub{reflect.New(inner).Elem(), p + ".NAME"})
		default:
			subs = append(subs, sub{x, p})
		}
	}
	for _, s := range subs {
		section(b, docs, s.v, s.path, "`"+s.path+"`")
	}
}

// owner is the name of the struct that declares f, which may be embedded in t.
func owner(t reflect.Type, f reflect.StructField) string {
	for len(f.Index) > 1 {
		t, f.Index = t.Field(f.Index[0]).Type, f.Index[1:]
	}
	return t.Name()
}

func defaultText(f reflect.StructField, x reflect.Value, inner bool) string {
	switch {
	case f.Tag.Get("need") != "":
		return "**required**"
	case inner && f.Type != reflect.TypeFor[Hedging]():
		return ""
	case f.Type == reflect.TypeFor[Hedging]():
		return "on"
	case f.Type == reflect.TypeFor[time.Duration]() && (!x.IsZero() || strings.HasPrefix(f.Tag.Get("range"), "0")):
		return "`" + formatDuration(time.Duration(x.Int())) + "`"
	case f.Type.Kind() == reflect.Bool || f.Type.Kind() == reflect.Int:
		return fmt.Sprintf("`%v`", x)
	case x.IsZero():
		return ""
	}
	return fmt.Sprintf("`%v`", x.Interface())
}

// notation says in words what f's value looks like, and the struct of the
// section that it is, if it is one.
func notation(f reflect.StructField) (words string, inner reflect.Type) {
	t, tag := f.Type, f.Tag
	limits := ""
	if low, high, ok := strings.Cut(tag.Get("range"), ".."); ok {
		limits = fmt.Sprintf(", %s to %s", low, high)
		if low == high {
			limits = ", " + low
		}
	}
	switch {
	case tag.Get("enum") != "":
		return "`" + strings.ReplaceAll(tag.Get("enum"), "|", "`, `") + "`", nil
	case t == reflect.TypeFor[time.Duration]():
		return "duration" + limits, nil
	case t == reflect.TypeFor[Bytes]():
		return "size" + limits, nil
	case t == reflect.TypeFor[Secret]():
		return "secret", nil
	case t == reflect.TypeFor[Place]() && f.Name == "StateFallback":
		return "`file:/path`", nil
	case t == reflect.TypeFor[Place]():
		return "`schema:NAME` or `file:/path`", nil
	case t == reflect.TypeFor[Ordering]():
		return "`primary_key`, `none`, `hash` (1,024 buckets) or `{hash: N}`, 1 to 65,536", nil
	case t == reflect.TypeFor[Staleness]():
		return "`auto`, or duration, 0s to 24h", nil
	case t == reflect.TypeFor[Pattern]():
		return "pattern", nil
	case t == reflect.TypeFor[Hedging]():
		return "`off`, or keys", t
	case t.Kind() == reflect.Bool:
		return "`true`, `false`", nil
	case t.Kind() == reflect.Int:
		return "whole number" + limits, nil
	case t.Kind() == reflect.Float64:
		return "number" + limits, nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return "list of texts: " + forms[tag.Get("form")].wants, nil
	case t.Kind() == reflect.Slice:
		return "list of entries", t.Elem()
	case t.Kind() == reflect.Map:
		return "keys by name", t.Elem()
	case t.Kind() == reflect.Struct:
		return "keys", t
	case tag.Get("form") != "":
		return forms[tag.Get("form")].wants, nil
	}
	panic("no notation for " + t.String())
}

// comments reads the comment of every field of this package's structs, by
// Struct.Field, as one line.
func comments(t *testing.T) map[string]string {
	docs := map[string]string{}
	for _, name := range []string{"config.go", "tables.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			for _, f := range s.Fields.List {
				for _, id := range f.Names {
					docs[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
				}
			}
			return true
		})
	}
	return docs
}

// TestEveryKeyIsExplained finds fields without a comment.
func TestEveryKeyIsExplained(t *testing.T) {
	docs := comments(t)
	var walk func(reflect.Type)
	walk = func(s reflect.Type) {
		for f := range fieldsOf(s) {
			if docs[owner(s, f.StructField)+"."+f.Name] == "" {
				t.Errorf("%s.%s has no comment", s.Name(), f.Name)
			}
			if _, inner := notation(f.StructField); inner != nil {
				walk(inner)
			}
		}
	}
	walk(reflect.TypeFor[Config]())
}
