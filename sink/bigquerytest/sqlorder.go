package bigquerytest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// orderOf compares canonical texts of two types; nil if they have no order.
func orderOf(a, b kind) func(x, y string) int {
	switch {
	case a == kindFloat64 && isNumber(b), b == kindFloat64 && isNumber(a):
		return func(x, y string) int { return cmp.Compare(floatOf(x), floatOf(y)) }
	case a == kindInt64 && b == kindInt64:
		return func(x, y string) int { return cmp.Compare(intOf(x), intOf(y)) }
	case isNumber(a) && isNumber(b):
		return func(x, y string) int { return decimalOf(x).Cmp(decimalOf(y)) }
	case a != b || a == kindJSON:
		return nil
	case a == kindBytes:
		return func(x, y string) int { return bytes.Compare(bytesOf(x), bytesOf(y)) }
	}
	return strings.Compare
}

func intOf(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64) // canonical texts are numbers
	return n
}

func floatOf(s string) float64 {
	f, _ := strconv.ParseFloat(s, 64)
	return f
}

func decimalOf(s string) *big.Rat {
	if r, ok := new(big.Rat).SetString(s); ok {
		return r
	}
	return new(big.Rat)
}

func bytesOf(s string) []byte {
	b, _ := base64.StdEncoding.DecodeString(s)
	return b
}

// orderAny orders values of one column; NULL comes first, as in ascending
// order of the service.
func (c *column) orderAny(a, b any) int {
	x, okX := a.(string)
	y, okY := b.(string)
	switch {
	case okX && okY:
		return orderOf(c.kind, c.kind)(x, y)
	case okX:
		return 1
	case okY:
		return -1
	}
	return 0
}

// sortable says whether values of the column have an order.
func (c *column) sortable() bool { return !c.repeated && c.kind != kindJSON }

// sortKeys compiles the expressions of an ORDER BY.
func (c *compiler) sortKeys(order []orderItem) ([]compiled, *restError) {
	out := make([]compiled, len(order))
	for i, o := range order {
		var e *restError
		if out[i], e = c.compile(o.e); e != nil {
			return nil, e
		}
		if !out[i].column.sortable() {
			return nil, sqlInvalid(ruleSQL, "ORDER BY does not support expressions of type "+out[i].column.typeName())
		}
	}
	return out, nil
}

// sortedBy orders the indexes of rows.
func sortedBy(n int, row func(int) []any, keys []compiled, order []orderItem) []int {
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	if len(keys) == 0 {
		return index
	}
	values := make([][]any, n)
	for i := range values {
		values[i] = make([]any, len(keys))
		for k := range keys {
			values[i][k] = keys[k].eval(row(i))
		}
	}
	slices.SortStableFunc(index, func(x, y int) int {
		for k := range keys {
			by := keys[k].column.orderAny(values[x][k], values[y][k])
			if order[k].desc {
				by = -by
			}
			if by != 0 {
				return by
			}
		}
		return 0
	})
	return index
}
