package bigquerytest

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// shape is a table's columns and key while the actions of an ALTER TABLE are
// done one after the other. Columns keep their id, so rows that were written
// before are found under a new name.
type shape struct {
	columns []*column
	keys    []string
}

func (s *shape) find(name string) int {
	return slices.IndexFunc(s.columns, func(c *column) bool { return strings.EqualFold(c.name, name) })
}

// reshape does one action.
func (t *table) reshape(s *shape, a alterAction) *restError {
	switch {
	case a.add != nil:
		if a.ifAbsent && s.find(a.add.Name) >= 0 {
			return nil
		}
		c, e := t.addedColumn(a.add)
		s.columns = append(s.columns, c)
		return e
	case a.keys != nil || a.unkey:
		return t.changeKey(s, a)
	}
	name := a.drop + a.rename + a.column
	i := s.find(name)
	switch {
	case name == "" || (i < 0 && a.ifExists):
		return nil
	case i < 0:
		return sqlInvalid(ruleAlter, "Column not found: "+name)
	}
	switch c := s.columns[i]; {
	case a.drop != "":
		s.columns = append(s.columns[:i:i], s.columns[i+1:]...)
		return t.mayChange(s, c)
	case a.rename != "":
		s.columns[i] = c.as(a.to)
		if e := t.mayChange(s, c); e != nil {
			return e
		}
		return checkColumnName(a.to)
	case a.relax:
		if !c.required {
			return sqlInvalid(ruleRelax, "Column "+c.name+" does not have a NOT NULL constraint")
		}
		s.columns[i] = c.relaxed()
	case a.retype != nil:
		next, e := t.retyped(s, c, a)
		s.columns[i] = next
		return e
	case a.comment != nil:
		s.columns[i] = c.described(*a.comment)
		return checkColumnDescription(c.name, *a.comment)
	}
	return nil
}

// mayChange refuses to drop or rename a column of the key or the clustering.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language#alter_table_drop_column_statement
func (t *table) mayChange(s *shape, c *column) *restError {
	has := func(names []string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, c.name) })
	}
	switch {
	case has(s.keys):
		return sqlInvalid(ruleAlter, "Column "+c.name+" is part of the primary key and can't be dropped or renamed")
	case has(t.schema().cluster):
		return sqlInvalid(ruleAlter, "Column "+c.name+" is a clustering column and can't be dropped or renamed")
	}
	return nil
}

// changeKey is ADD and DROP PRIMARY KEY. A key with rows isn't changed here:
// no page says what becomes of them.
func (t *table) changeKey(s *shape, a alterAction) *restError {
	switch {
	case t.active:
		return restUnhandled("changing the primary key of a table with rows isn't built")
	case a.keys != nil && len(s.keys) > 0:
		return sqlInvalid(ruleKeyTwice, "Table "+t.id()+" already has a primary key")
	case a.unkey && len(s.keys) == 0 && !a.ifExists:
		return sqlInvalid(ruleKeyTwice, "Table "+t.id()+" does not have a primary key")
	}
	s.keys = a.keys
	return nil
}

// widened are the types that a column's type may become, besides a wider one
// of the same type.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-definition-language#alter_column_set_data_type_statement
var widened = map[kind][]kind{
	kindInt64:   {kindNumeric, kindBigNumeric, kindFloat64},
	kindNumeric: {kindBigNumeric, kindFloat64},
}

// retyped is the column with the type of SET DATA TYPE.
func (t *table) retyped(s *shape, c *column, a alterAction) (*column, *restError) {
	field := *a.retype
	field.Name, field.Description = c.name, c.field.Description
	if c.required {
		field.Mode = "REQUIRED"
	}
	if c.repeated != (a.retype.Mode == "REPEATED") {
		return nil, sqlInvalid(ruleRetype, "Column `"+c.name+"` cannot change mode via SET DATA TYPE.")
	}
	next, e := newColumn(c.id, &field)
	if e != nil {
		return nil, e
	}
	if !slices.Contains(widened[c.kind], next.kind) && (c.kind != next.kind || !c.narrower(next)) || !c.narrower(next) {
		return nil, sqlInvalid(ruleRetype, "ALTER TABLE ALTER COLUMN SET DATA TYPE requires that the existing column type ("+c.typeText()+") is assignable to the new type ("+next.typeText()+")")
	}
	if slices.ContainsFunc(s.keys, func(k string) bool { return strings.EqualFold(k, c.name) }) && c.kind != next.kind {
		return nil, sqlInvalid(ruleKeyFixed, "Column `"+c.name+"` is of the primary key: its type can't be changed")
	}
	next.retyped = c.retyped || c.kind != next.kind
	return next, nil
}

// narrower says whether every value of c fits into next's parameters.
func (c *column) narrower(next *column) bool {
	if next.maxLength > 0 && (c.maxLength == 0 || c.maxLength > next.maxLength) {
		return false
	}
	if next.precision == 0 {
		return true
	}
	whole, scale := c.digits()
	return next.precision-next.scale >= whole && next.scale >= scale
}

// digits are those before and after the point that values of c may have.
func (c *column) digits() (whole, scale int64) {
	switch {
	case c.precision > 0:
		return c.precision - c.scale, c.scale
	case c.kind == kindInt64:
		return 19, 0
	}
	return c.intDigits(), int64(c.decimalScale())
}

func (c *column) relaxed() *column {
	out, field := *c, *c.field
	out.required, field.Mode = false, "NULLABLE"
	out.field = &field
	return &out
}

func (c *column) described(text string) *column {
	out, field := *c, *c.field
	field.Description = text
	out.field = &field
	return &out
}

// Limits of descriptions, in characters.
//
// https://docs.cloud.google.com/bigquery/quotas#table_limits
const (
	maxColumnDescription = 1024
	maxTableDescription  = 16384
)

func checkColumnDescription(name, text string) *restError {
	if utf8.RuneCountInString(text) > maxColumnDescription {
		return restInvalid(ruleDescription, "The description for field "+name+" is too long. The maximum length is 1024 characters.")
	}
	return nil
}

func checkDescription(text string) *restError {
	if utf8.RuneCountInString(text) > maxTableDescription {
		return restInvalid(ruleDescription, "Descriptions can be at most 16384 characters long.")
	}
	return nil
}
