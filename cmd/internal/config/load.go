package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// The limits of a file. The YAML parser's time grows with the square of the
// nesting: 50,000 brackets take it 13 s.
const (
	maxFileBytes = 512 << 10
	maxNesting   = 32
)

// Lookup finds an environment variable; os.LookupEnv is one.
type Lookup func(name string) (value string, ok bool)

// Load reads and checks the file at path. The error is Findings, or says why the
// file can't be read.
func Load(path string, env Lookup) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable{err}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, unreadable{err}
	}
	return Parse(path, data, env)
}

// unreadable says that there is no file to check.
type unreadable struct{ err error }

func (u unreadable) Error() string { return fmt.Sprintf("read configuration: %v", u.err) }
func (u unreadable) Unwrap() error { return u.err }
func (u unreadable) Code() string  { return "config_unreadable" }
func (u unreadable) Fix() string   { return "name a readable file with --config" }

// Parse decodes and checks data; name is the file's name in findings. The error
// is Findings.
func Parse(name string, data []byte, env Lookup) (*Config, error) {
	d := &decoder{file: name, keys: keys{}}
	root := d.parse(data)
	if root == nil {
		return nil, d.findings.orNil()
	}
	c := Default(databaseOf(root))
	d.decode(root, c)
	c.keys = d.keys
	v := validator{c: c, env: env, findings: d.findings, file: name}
	v.validate()
	if err := v.findings.orNil(); err != nil {
		return nil, err
	}
	return c, nil
}

// parse returns the mapping that the file is, nil with a finding if it isn't one.
func (d *decoder) parse(data []byte) *ast.MappingNode {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if !d.bytes(data) {
		return nil
	}
	file, err := parseYAML(data)
	if err != nil {
		line, column := 0, 0
		problem := "this isn't YAML"
		if e, ok := errors.AsType[interface {
			error
			GetToken() *token.Token
			GetMessage() string
		}](err); ok {
			problem += ": " + e.GetMessage()
			if t := e.GetToken(); t != nil && t.Position != nil {
				line, column = t.Position.Line, t.Position.Column
			}
		}
		d.at(line, column, "", problem, "correct the syntax; indent with spaces and quote texts that hold special characters")
		return nil
	}
	var bodies []ast.Node
	for _, doc := range file.Docs {
		if doc.Body != nil {
			bodies = append(bodies, doc.Body)
		}
	}
	for _, b := range bodies {
		if _, ok := b.(*ast.DirectiveNode); ok {
			d.plain(b, "")
			return nil
		}
	}
	switch {
	case len(bodies) == 0:
		d.at(0, 0, "", "the file is empty", "start from deploy/config.example.yaml")
		return nil
	case len(bodies) > 1:
		line, column := place(bodies[1])
		d.at(line, column, "", "there is a second document", "keep one database a file")
		return nil
	}
	root, ok := d.mapping(bodies[0], "")
	if !ok {
		return nil
	}
	return root
}

// bytes refuses what the parser is not to be trusted with.
func (d *decoder) bytes(data []byte) bool {
	if len(data) > maxFileBytes {
		d.at(0, 0, "", fmt.Sprintf("the file is larger than %s", Bytes(maxFileBytes)), "match many tables by one pattern")
		return false
	}
	var n nesting
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			d.at(line, column, "", "this byte isn't UTF-8", "save the file as UTF-8")
			return false
		case r < ' ' && r != '\n' && r != '\t' && r != '\r', r == 0x7F:
			d.at(line, column, "", fmt.Sprintf("control character %U", r), "take it out")
			return false
		case n.next(r) > maxNesting:
			d.at(line, column, "", fmt.Sprintf("nested deeper than %d", maxNesting), "see deploy/CONFIG.md for the form of the file")
			return false
		}
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
		i += size
	}
	return true
}

// nesting estimates how deep the parser would be: the brackets that are open,
// and in front of a line every two of indentation and dashes. It doesn't know
// quotes, so a line that starts with a letter counts as a new key of the file.
type nesting struct {
	open, front     int
	inside, comment bool // after the first character of a line that isn't in front; in a comment
	last            rune
}

func (n *nesting) next(r rune) int {
	last := n.last
	n.last = r
	switch {
	case r == '\n':
		n.front, n.inside, n.comment = 0, false, false
		return 0
	case n.comment:
		return 0
	case r == '#' && (!n.inside || last == ' ' || last == '\t'):
		n.comment = true
		return 0
	case !n.inside && (r == ' ' || r == '-' || r == '?' || r == ':'):
		n.front++
		if r == ' ' {
			return n.open // spaces alone may stand before a comment
		}
	default:
		if !n.inside && n.front == 0 && unicode.IsLetter(r) {
			n.open = 0
		}
		n.inside = true
	}
	switch r {
	case '[', '{':
		n.open++
	case ']', '}':
		n.open = max(n.open-1, 0)
	}
	if n.open > 0 {
		return n.open // then the front isn't indentation
	}
	return n.front / 2
}

// parseYAML is the parser; a panic in it becomes an error, because the file is
// foreign bytes and the parser is foreign code.
func parseYAML(data []byte) (file *ast.File, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("parser: %v", p)
		}
	}()
	return parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
}

// databaseOf finds the name that defaults come from, before anything is decoded.
func databaseOf(root *ast.MappingNode) string {
	for _, kv := range root.Values {
		k, ok1 := kv.Key.(*ast.StringNode)
		v, ok2 := kv.Value.(*ast.StringNode)
		if ok1 && ok2 && k.Value == "database" && forms["database"].ok(v.Value) {
			return v.Value
		}
	}
	return "database"
}
