package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

// decoder puts a file's nodes into a Config and gathers findings. The library's
// own decoder stops at the first.
type decoder struct {
	file     string
	keys     keys
	findings Findings
}

func (d *decoder) at(line, column int, path, problem, do string) {
	d.findings = append(d.findings, Finding{d.file, line, column, path, problem, do})
}

func (d *decoder) finding(n ast.Node, path, problem, do string) {
	line, column := place(n)
	d.at(line, column, path, problem, do)
}

// place returns where n starts. A mapping's own token is its first colon.
func place(n ast.Node) (line, column int) {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	if m, ok := n.(*ast.MappingValueNode); ok {
		n = m.Key
	}
	t := n.GetToken()
	if t == nil || t.Position == nil {
		return 0, 0
	}
	return t.Position.Line, t.Position.Column
}

func (d *decoder) decode(root *ast.MappingNode, c *Config) {
	d.keys[""] = keyOf(root)
	d.fields(root, reflect.ValueOf(c).Elem(), "")
}

func keyOf(n ast.Node) key {
	line, column := place(n)
	k := key{line: line, column: column}
	if s, ok := n.(ast.ScalarNode); ok {
		k.text = fmt.Sprint(s.GetValue())
	}
	return k
}

// special is a type with a notation of its own.
type special interface {
	decode(d *decoder, n ast.Node, path string)
}

// value decodes n into v, which is a field with tags.
func (d *decoder) value(n ast.Node, v reflect.Value, path string) {
	if !d.plain(n, path) {
		return
	}
	d.keys[path] = keyOf(n)
	if s, ok := v.Addr().Interface().(special); ok {
		s.decode(d, n, path)
		return
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		decodeScalar(d, n, path, v.Addr().Interface().(*time.Duration), parseDuration, durationExample)
	case v.Kind() == reflect.String:
		if s, ok := d.text(n, path); ok {
			v.SetString(s)
		}
	case v.Kind() == reflect.Bool:
		if b, ok := n.(*ast.BoolNode); ok {
			v.SetBool(b.Value)
		} else {
			d.wrongType(n, path, "true or false")
		}
	case v.Kind() == reflect.Int:
		d.integer(n, v, path)
	case v.Kind() == reflect.Float64:
		d.float(n, v, path)
	case v.Kind() == reflect.Struct:
		if m, ok := d.mapping(n, path); ok {
			d.fields(m, v, path)
		}
	case v.Kind() == reflect.Slice:
		d.list(n, v, path)
	case v.Kind() == reflect.Map:
		d.table(n, v, path)
	default:
		panic("config: no notation for " + v.Type().String())
	}
}

// plain refuses what makes one text mean another.
func (d *decoder) plain(n ast.Node, path string) bool {
	switch n.(type) {
	case nil:
		d.at(0, 0, path, "the key has no value", "give it one or take the key out")
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		d.finding(n, path, "anchors, aliases and merge keys aren't read", "write the value out")
	case *ast.TagNode, *ast.DirectiveNode:
		d.finding(n, path, "tags and directives aren't read", "write the value without it")
	case *ast.NullNode:
		d.finding(n, path, "the key has no value", "give it one or take the key out")
	default:
		return true
	}
	return false
}

func (d *decoder) wrongType(n ast.Node, path, want string) {
	d.finding(n, path, "wrong type: this is "+nodeName(n), "write "+want)
}

func nodeName(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	case *ast.IntegerNode:
		return "a whole number"
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	default:
		return "something else"
	}
}

func (d *decoder) mapping(n ast.Node, path string) (*ast.MappingNode, bool) {
	if !d.plain(n, path) {
		return nil, false
	}
	switch m := n.(type) {
	case *ast.MappingNode:
		return m, true
	case *ast.MappingValueNode:
		return &ast.MappingNode{BaseNode: &ast.BaseNode{}, Values: []*ast.MappingValueNode{m}}, true
	}
	d.wrongType(n, path, "keys and values here")
	return nil, false
}

// entries calls f for every key of m that is there once.
func (d *decoder) entries(m *ast.MappingNode, path string, f func(name string, k, v ast.Node)) {
	seen := map[string]int{}
	for _, kv := range m.Values {
		var name string
		switch k := kv.Key.(type) {
		case *ast.StringNode:
			name = k.Value
		default:
			d.finding(kv.Key, path, "the key isn't a plain text", "write the key as a word")
			continue
		}
		if line, ok := seen[name]; ok {
			d.finding(kv.Key, join(path, name), fmt.Sprintf("the key is there twice, first in line %d", line), "keep one of the two")
			continue
		}
		seen[name], _ = place(kv.Key)
		f(name, kv.Key, kv.Value)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// fields decodes m into the struct v and looks for keys that must be there.
func (d *decoder) fields(m *ast.MappingNode, v reflect.Value, path string) {
	known := map[string]reflect.Value{}
	tags := map[string]reflect.StructTag{}
	var need, names []string
	for f := range fieldsOf(v.Type()) {
		known[f.key], tags[f.key] = v.FieldByIndex(f.Index), f.Tag
		names = append(names, f.key)
		if f.Tag.Get("need") != "" {
			need = append(need, f.key)
		}
	}
	there := map[string]bool{}
	d.entries(m, path, func(name string, k, n ast.Node) {
		there[name] = true
		field, ok := known[name]
		if !ok {
			d.unknown(k, join(path, name), name, names)
			return
		}
		if null, ok := n.(*ast.NullNode); ok && null.Token.Value == "null" && slices.Contains(strings.Split(tags[name].Get("enum"), "|"), "null") {
			// Here null is one of the words; YAML reads it as no value.
			line, column := place(n)
			d.keys[join(path, name)] = key{line, column, "null"}
			field.SetString("null")
			return
		}
		d.value(n, field, join(path, name))
	})
	for _, name := range need {
		if !there[name] {
			line, column := place(m)
			d.at(line, column, join(path, name), "the key is missing", "add it; deploy/CONFIG.md describes it")
		}
	}
}

// misplaced says why a key isn't where somebody may look for it.
var misplaced = map[string][2]string{
	"pubsub.ordered.hedging": {
		"hedging doesn't exist on the ordered topic: a hedged copy may be stored after a later change of its key, which breaks the order",
		"take it out here; hedging belongs under pubsub.unordered",
	},
	"pubsub.ordered.total_timeout": {
		"a publish on the ordered topic has no total timeout: it is retried for ever, because a change that is given up is a gap",
		"take it out here",
	},
}

func (d *decoder) unknown(k ast.Node, path, name string, names []string) {
	if why, ok := misplaced[path]; ok {
		d.finding(k, path, why[0], why[1])
		return
	}
	do := "take it out; here there may be " + strings.Join(names, ", ")
	if near := nearest(name, names); near != "" {
		do = "did you mean " + near + "?"
	}
	d.finding(k, path, "unknown key", do)
}

func (d *decoder) list(n ast.Node, v reflect.Value, path string) {
	s, ok := n.(*ast.SequenceNode)
	if !ok {
		d.wrongType(n, path, "a list")
		return
	}
	out := reflect.MakeSlice(v.Type(), len(s.Values), len(s.Values))
	for i, e := range s.Values {
		d.value(e, out.Index(i), fmt.Sprintf("%s[%d]", path, i))
	}
	v.Set(out)
}

func (d *decoder) table(n ast.Node, v reflect.Value, path string) {
	m, ok := d.mapping(n, path)
	if !ok {
		return
	}
	out := reflect.MakeMap(v.Type())
	d.entries(m, path, func(name string, _, e ast.Node) {
		ev := reflect.New(v.Type().Elem()).Elem()
		d.value(e, ev, join(path, name))
		out.SetMapIndex(reflect.ValueOf(name), ev)
	})
	v.Set(out)
}

// field is a field of a struct with its key; embedded structs are unfolded.
type field struct {
	reflect.StructField
	key string
}

func fieldsOf(t reflect.Type) func(yield func(field) bool) {
	return func(yield func(field) bool) {
		for _, f := range reflect.VisibleFields(t) {
			k := f.Tag.Get("yaml")
			if k == "" || k == "-" {
				continue
			}
			if !yield(field{f, k}) {
				return
			}
		}
	}
}

// nearest returns the name that differs from s by one slip, "" if none does.
func nearest(s string, names []string) string {
	i := slices.IndexFunc(names, func(n string) bool { return distance(s, n) <= min(2, len(n)/3) })
	if i < 0 {
		return ""
	}
	return names[i]
}

// distance is the number of letters to add, take out or change.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 64
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := min(row[j]+1, row[j+1]+1, diagonal)
			if a[i] != b[j] {
				next = min(row[j]+1, row[j+1]+1, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
