package bigquerytest

import (
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

// alterTable is ALTER TABLE [IF EXISTS] t with one or more actions.
type alterTable struct {
	path     []string
	ifExists bool
	actions  []alterAction
}

// alterAction is one of SET OPTIONS, ADD COLUMN, DROP COLUMN, RENAME COLUMN
// and ALTER COLUMN … DROP NOT NULL.
type alterAction struct {
	options  *options
	add      *bq.TableFieldSchema
	drop     string
	rename   string
	to       string
	relax    string
	ifAbsent bool // ADD COLUMN IF NOT EXISTS
	ifExists bool
}

// options are the table options that this server knows.
type options struct {
	staleness *time.Duration
	unstale   bool // max_staleness = NULL
	comment   *string
}

func (p *parser) createTable() (*createTable, *restError) {
	if e := p.expectWords("TABLE"); e != nil {
		return nil, e
	}
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
		if c.options, e = p.options(); e != nil {
			return nil, e
		}
	}
	return c, nil
}

// tableElement is a column or PRIMARY KEY (…) NOT ENFORCED.
func (p *parser) tableElement(c *createTable) *restError {
	if p.words("PRIMARY", "KEY") {
		if e := p.expectSymbol("("); e != nil {
			return e
		}
		names, e := p.names()
		if e != nil {
			return e
		}
		if len(c.keys) > 0 {
			return sqlInvalid(ruleSQL, "Multiple primary keys")
		}
		c.keys = names
		if e := p.expectSymbol(")"); e != nil {
			return e
		}
		return p.expectWords("NOT", "ENFORCED")
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
	f := &bq.TableFieldSchema{Name: name, Mode: "NULLABLE"}
	if p.word("ARRAY") {
		f.Mode = "REPEATED"
		if e := p.expectSymbol("<"); e != nil {
			return nil, e
		}
		if e := p.typeName(f); e != nil {
			return nil, e
		}
		if e := p.expectSymbol(">"); e != nil {
			return nil, e
		}
	} else if e := p.typeName(f); e != nil {
		return nil, e
	}
	if p.words("NOT", "NULL") {
		if f.Mode == "REPEATED" {
			return nil, p.unexpected("no NOT NULL on an ARRAY")
		}
		f.Mode = "REQUIRED"
	}
	if p.word("OPTIONS") {
		o, e := p.options()
		if e != nil {
			return nil, e
		}
		if o.comment != nil {
			f.Description = *o.comment
		}
	}
	return f, nil
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

func (p *parser) options() (options, *restError) {
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
		switch strings.ToLower(name) {
		case "max_staleness":
			if e := p.maxStaleness(&o); e != nil {
				return o, e
			}
		case "description":
			t := p.take()
			if t.kind != tokenText {
				p.at--
				return o, p.unexpected("a string")
			}
			o.comment = &t.text
		default:
			return o, sqlInvalid(ruleSQL, "Unknown option, or one that this server doesn't know: "+name)
		}
		if !p.symbol(",") {
			return o, p.expectSymbol(")")
		}
	}
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
		d, ok = intervalUnits[strings.ToUpper(unit.text)]
		ok = ok && err == nil
		d *= time.Duration(n)
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

func (p *parser) alterTable() (*alterTable, *restError) {
	if e := p.expectWords("TABLE"); e != nil {
		return nil, e
	}
	a := &alterTable{ifExists: p.words("IF", "EXISTS")}
	var e *restError
	if a.path, e = p.path(); e != nil {
		return nil, e
	}
	for {
		action, e := p.alterAction()
		if e != nil {
			return nil, e
		}
		a.actions = append(a.actions, action)
		if !p.symbol(",") {
			return a, nil
		}
	}
}

func (p *parser) alterAction() (a alterAction, e *restError) {
	switch {
	case p.words("SET", "OPTIONS"):
		o, e := p.options()
		a.options = &o
		return a, e
	case p.words("ADD", "COLUMN"):
		a.ifAbsent = p.words("IF", "NOT", "EXISTS")
		a.add, e = p.columnDefinition()
	case p.words("DROP", "COLUMN"):
		a.ifExists = p.words("IF", "EXISTS")
		a.drop, e = p.name()
	case p.words("RENAME", "COLUMN"):
		a.ifExists = p.words("IF", "EXISTS")
		if a.rename, e = p.name(); e != nil {
			return a, e
		}
		if e = p.expectWords("TO"); e != nil {
			return a, e
		}
		a.to, e = p.name()
	case p.words("ALTER", "COLUMN"):
		a.ifExists = p.words("IF", "EXISTS")
		if a.relax, e = p.name(); e != nil {
			return a, e
		}
		e = p.expectWords("DROP", "NOT", "NULL")
	default:
		e = p.unexpected("SET OPTIONS, ADD COLUMN, DROP COLUMN, RENAME COLUMN or ALTER COLUMN … DROP NOT NULL")
	}
	return a, e
}
