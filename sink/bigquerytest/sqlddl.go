package bigquerytest

import (
	"slices"
	"strconv"
	"strings"
	"time"

	bq "google.golang.org/api/bigquery/v2"
)

// createTable is CREATE TABLE [IF NOT EXISTS] t (…) [CLUSTER BY …] [OPTIONS (…)].
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language
type createTable struct {
	path     []string
	ifAbsent bool
	columns  []*bq.TableFieldSchema
	keys     []string
	cluster  []string
	options  options
}

// options are the options of tables, views and columns that this server knows.
type options struct {
	staleness *time.Duration
	unstale   bool // max_staleness = NULL
	comment   *string
}

func (p *parser) createTable() (*createTable, *restError) {
	c := &createTable{ifAbsent: p.words("IF", "NOT", "EXISTS")}
	var e *restError
	if c.path, e = p.path(); e != nil {
		return nil, e
	}
	if e := p.expectSymbol("("); e != nil {
		return nil, e
	}
	for {
		if e := p.tableElement(c); e != nil {
			return nil, e
		}
		if !p.symbol(",") {
			break
		}
	}
	if e := p.expectSymbol(")"); e != nil {
		return nil, e
	}
	if p.words("CLUSTER", "BY") {
		if c.cluster, e = p.names(); e != nil {
			return nil, e
		}
	}
	if p.word("OPTIONS") {
		if c.options, e = p.options("description", "max_staleness"); e != nil {
			return nil, e
		}
	}
	return c, nil
}

// tableElement is a column or PRIMARY KEY (…) NOT ENFORCED.
func (p *parser) tableElement(c *createTable) *restError {
	if p.words("PRIMARY", "KEY") {
		names, e := p.keyDefinition()
		if len(c.keys) > 0 && e == nil {
			e = sqlInvalid(ruleSQL, "Multiple primary keys")
		}
		c.keys = names
		return e
	}
	f, e := p.columnDefinition()
	if e != nil {
		return e
	}
	if p.words("PRIMARY", "KEY") {
		if len(c.keys) > 0 {
			return sqlInvalid(ruleSQL, "Multiple primary keys")
		}
		c.keys = []string{f.Name}
		if e := p.expectWords("NOT", "ENFORCED"); e != nil {
			return e
		}
	}
	c.columns = append(c.columns, f)
	return nil
}

// keyDefinition is (…) NOT ENFORCED.
func (p *parser) keyDefinition() ([]string, *restError) {
	if e := p.expectSymbol("("); e != nil {
		return nil, e
	}
	names, e := p.names()
	if e != nil {
		return nil, e
	}
	if e := p.expectSymbol(")"); e != nil {
		return nil, e
	}
	return names, p.expectWords("NOT", "ENFORCED")
}

func (p *parser) names() ([]string, *restError) {
	var out []string
	for {
		n, e := p.name()
		if e != nil {
			return nil, e
		}
		out = append(out, n)
		if !p.symbol(",") {
			return out, nil
		}
	}
}

// columnDefinition is name type [NOT NULL] [OPTIONS (description = '…')].
func (p *parser) columnDefinition() (*bq.TableFieldSchema, *restError) {
	name, e := p.name()
	if e != nil {
		return nil, e
	}
	f := &bq.TableFieldSchema{Name: name}
	if e := p.columnType(f); e != nil {
		return nil, e
	}
	if p.words("NOT", "NULL") {
		if f.Mode == "REPEATED" {
			return nil, p.unexpected("no NOT NULL on an ARRAY")
		}
		f.Mode = "REQUIRED"
	}
	if p.word("OPTIONS") {
		o, e := p.options("description")
		if e != nil {
			return nil, e
		}
		if o.comment != nil {
			f.Description = *o.comment
		}
	}
	return f, nil
}

// columnType is a type, or ARRAY<type>.
func (p *parser) columnType(f *bq.TableFieldSchema) *restError {
	f.Mode = "NULLABLE"
	if !p.word("ARRAY") {
		return p.typeName(f)
	}
	f.Mode = "REPEATED"
	if e := p.expectSymbol("<"); e != nil {
		return e
	}
	if e := p.typeName(f); e != nil {
		return e
	}
	return p.expectSymbol(">")
}

// typeName is a type with its optional parameters.
func (p *parser) typeName(f *bq.TableFieldSchema) *restError {
	name, e := p.name()
	if e != nil {
		return e
	}
	f.Type = strings.ToUpper(name)
	if typeNames[f.Type] == "" && !unhandledTypes[f.Type] {
		return sqlInvalid(ruleColumnType, "Type not found: "+name)
	}
	if !p.symbol("(") {
		return nil
	}
	first, e := p.count()
	if e != nil {
		return e
	}
	switch typeNames[f.Type] {
	case kindString, kindBytes:
		f.MaxLength = int64(first)
	default:
		f.Precision = int64(first)
		if p.symbol(",") {
			scale, e := p.count()
			if e != nil {
				return e
			}
			f.Scale = int64(scale)
		}
	}
	return p.expectSymbol(")")
}

// options takes (name = value, …) with the names that fit the place.
func (p *parser) options(known ...string) (options, *restError) {
	var o options
	if e := p.expectSymbol("("); e != nil {
		return o, e
	}
	for {
		name, e := p.name()
		if e != nil {
			return o, e
		}
		if e := p.expectSymbol("="); e != nil {
			return o, e
		}
		switch lower := strings.ToLower(name); {
		case !slices.Contains(known, lower):
			return o, sqlInvalid(ruleSQL, "Unknown option, or one that this server doesn't know: "+name)
		case lower == "max_staleness":
			e = p.maxStaleness(&o)
		default:
			e = p.description(&o)
		}
		if e != nil {
			return o, e
		}
		if !p.symbol(",") {
			return o, p.expectSymbol(")")
		}
	}
}

// description is a string, or NULL for none.
func (p *parser) description(o *options) *restError {
	t := p.peek()
	if p.word("NULL") {
		o.comment = new("")
		return nil
	}
	if t.kind != tokenText {
		return p.unexpected("a string")
	}
	p.at++
	o.comment = &t.text
	return nil
}

// maxStaleness is NULL or an INTERVAL with a fixed length.
func (p *parser) maxStaleness(o *options) *restError {
	if p.word("NULL") {
		o.unstale = true
		return nil
	}
	if e := p.expectWords("INTERVAL"); e != nil {
		return e
	}
	t := p.take()
	var d time.Duration
	ok := false
	switch {
	case t.kind == tokenNumber:
		n, err := strconv.ParseInt(t.text, 10, 32)
		unit := p.take()
		if d, ok = intervalUnits[strings.ToUpper(unit.text)]; ok {
			d, ok = intervalOf(n, d)
		}
		ok = ok && err == nil
	case t.kind == tokenText && p.words("HOUR", "TO", "SECOND"):
		d, ok = parseClockText(t.text)
	case t.kind == tokenText && p.words("YEAR", "TO", "SECOND"):
		d, ok = parseIntervalText(t.text)
	}
	if !ok {
		return sqlInvalid(ruleStaleness, "Invalid INTERVAL for max_staleness: want INTERVAL n SECOND|MINUTE|HOUR|DAY|WEEK, 'H:M:S' HOUR TO SECOND or '0-0 D H:M:S' YEAR TO SECOND")
	}
	o.staleness = &d
	return nil
}
