package bigquerytest

import (
	"strings"

	bq "google.golang.org/api/bigquery/v2"
)

// alterTable is ALTER TABLE|VIEW [IF EXISTS] t with one or more actions.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language
type alterTable struct {
	path     []string
	view     bool
	ifExists bool
	actions  []alterAction
	newName  string // of RENAME TO, which stands alone
}

// alterAction is one of SET OPTIONS, ADD COLUMN, DROP COLUMN, RENAME COLUMN,
// ADD and DROP PRIMARY KEY, and the actions of ALTER COLUMN.
type alterAction struct {
	options  *options
	add      *bq.TableFieldSchema
	drop     string
	rename   string
	to       string
	keys     []string // ADD PRIMARY KEY
	unkey    bool     // DROP PRIMARY KEY
	column   string   // ALTER COLUMN
	relax    bool     // … DROP NOT NULL
	retype   *bq.TableFieldSchema
	comment  *string // … SET OPTIONS (description = …)
	ifAbsent bool    // ADD COLUMN IF NOT EXISTS
	ifExists bool
}

// dropTable is DROP TABLE|VIEW [IF EXISTS] t.
type dropTable struct {
	path     []string
	view     bool
	ifExists bool
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
	if p.words("RENAME", "TO") {
		a.newName, e = p.name()
		return a, e
	}
	for {
		action, e := p.alterAction()
		if e != nil {
			return nil, e
		}
		a.actions = append(a.actions, action)
		if !p.symbol(",") {
			return a, a.checkRenames()
		}
	}
}

// checkRenames: RENAME COLUMN stands with its like only.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language#alter_table_rename_column_statement
func (a *alterTable) checkRenames() *restError {
	renames := 0
	for _, action := range a.actions {
		if action.rename != "" {
			renames++
		}
	}
	if renames > 0 && renames < len(a.actions) {
		return sqlInvalid(ruleRenameAlone, "RENAME COLUMN cannot be used with other ALTER TABLE actions in one statement")
	}
	return nil
}

func (p *parser) alterView() (*alterTable, *restError) {
	a := &alterTable{view: true, ifExists: p.words("IF", "EXISTS")}
	var e *restError
	if a.path, e = p.path(); e != nil {
		return nil, e
	}
	if e := p.expectWords("SET", "OPTIONS"); e != nil {
		return nil, e
	}
	o, e := p.options("description")
	a.actions = []alterAction{{options: &o}}
	return a, e
}

func (p *parser) alterAction() (a alterAction, e *restError) {
	switch {
	case p.words("SET", "OPTIONS"):
		o, e := p.options("description", "max_staleness")
		a.options = &o
		return a, e
	case p.words("ADD", "COLUMN"):
		a.ifAbsent = p.words("IF", "NOT", "EXISTS")
		a.add, e = p.columnDefinition()
	case p.words("ADD", "PRIMARY", "KEY"):
		a.keys, e = p.keyDefinition()
	case p.words("DROP", "PRIMARY", "KEY"):
		a.unkey, a.ifExists = true, p.words("IF", "EXISTS")
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
		if a.column, e = p.name(); e == nil {
			e = p.alterColumn(&a)
		}
	default:
		e = p.unexpected("SET OPTIONS, RENAME TO, or ADD, DROP, RENAME or ALTER of a COLUMN or of the PRIMARY KEY")
	}
	return a, e
}

func (p *parser) alterColumn(a *alterAction) *restError {
	switch {
	case p.words("DROP", "NOT", "NULL"):
		a.relax = true
	case p.words("SET", "DATA", "TYPE"):
		a.retype = &bq.TableFieldSchema{Name: a.column}
		return p.columnType(a.retype)
	case p.words("SET", "OPTIONS"):
		o, e := p.options("description")
		a.comment = o.comment
		return e
	default:
		return p.unexpected("DROP NOT NULL, SET DATA TYPE or SET OPTIONS")
	}
	return nil
}

func (p *parser) dropTable() (*dropTable, *restError) {
	d := &dropTable{view: p.word("VIEW")}
	if !d.view {
		if e := p.expectWords("TABLE"); e != nil {
			return nil, e
		}
	}
	d.ifExists = p.words("IF", "EXISTS")
	var e *restError
	d.path, e = p.path()
	return d, e
}

// createView is CREATE [OR REPLACE] VIEW [IF NOT EXISTS] v [(names)]
// [OPTIONS (…)] AS SELECT ….
type createView struct {
	path     []string
	replace  bool
	ifAbsent bool
	names    []string
	comments []string // by name
	options  options
	query    string
}

func (p *parser) createView() (*createView, *restError) {
	c := &createView{replace: p.words("OR", "REPLACE")}
	if !p.word("VIEW") {
		return nil, p.unexpected("TABLE, VIEW or OR REPLACE VIEW")
	}
	if !c.replace {
		c.ifAbsent = p.words("IF", "NOT", "EXISTS")
	}
	var e *restError
	if c.path, e = p.path(); e != nil {
		return nil, e
	}
	if p.symbol("(") {
		if e := p.viewColumns(c); e != nil {
			return nil, e
		}
	}
	if p.word("OPTIONS") {
		if c.options, e = p.options("description"); e != nil {
			return nil, e
		}
	}
	if e := p.expectWords("AS"); e != nil {
		return nil, e
	}
	from := p.peek().from
	if e := p.expectWords("SELECT"); e != nil {
		return nil, e
	}
	if _, e := p.selectStatement(); e != nil {
		return nil, e
	}
	c.query = strings.TrimSpace(p.sql[from:p.peek().from])
	return c, nil
}

func (p *parser) viewColumns(c *createView) *restError {
	for {
		name, e := p.name()
		if e != nil {
			return e
		}
		var o options
		if p.word("OPTIONS") {
			if o, e = p.options("description"); e != nil {
				return e
			}
		}
		if o.comment == nil {
			o.comment = new("")
		}
		c.names, c.comments = append(c.names, name), append(c.comments, *o.comment)
		if !p.symbol(",") {
			return p.expectSymbol(")")
		}
	}
}

// changeRows is a statement that changes rows. What follows the table's name
// isn't read: on a table with change data capture it is refused anyway.
type changeRows struct {
	word string // DELETE, UPDATE, MERGE, INSERT or TRUNCATE TABLE
	path []string
	rest bool // there is more
}

func (p *parser) changeRows() (statement, *restError) {
	c := &changeRows{}
	switch {
	case p.words("TRUNCATE", "TABLE"):
		c.word = "TRUNCATE TABLE"
	case p.word("DELETE"):
		c.word = "DELETE"
		p.word("FROM")
	case p.word("UPDATE"):
		c.word = "UPDATE"
	case p.word("MERGE"):
		c.word = "MERGE"
		p.word("INTO")
	case p.word("INSERT"):
		c.word = "INSERT"
		p.word("INTO")
	default:
		return nil, p.unexpected("SELECT, CREATE, ALTER, DROP or TRUNCATE")
	}
	var e *restError
	if c.path, e = p.path(); e != nil {
		return nil, e
	}
	p.symbol(";")
	c.rest = p.peek().kind != tokenEnd
	return c, nil
}
