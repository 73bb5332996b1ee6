package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"
)

// eachLeaf calls f for every value of c, in the order of the structs.
func eachLeaf(c *Config, f func(path, value string)) {
	leaves(reflect.ValueOf(c).Elem(), "", f)
}

func leaves(v reflect.Value, path string, f func(path, value string)) {
	switch x := v.Interface().(type) {
	case time.Duration:
		f(path, formatDuration(x))
		return
	case Hedging:
		if x.Off {
			f(path, "off")
			return
		}
	case Secret:
		f(path, fmt.Sprintf("%v, set %v", x, !x.IsZero()))
		return
	case fmt.Stringer:
		f(path, x.String())
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for fd := range fieldsOf(v.Type()) {
			leaves(v.FieldByIndex(fd.Index), join(path, fd.key), f)
		}
	case reflect.Slice:
		for i := range v.Len() {
			leaves(v.Index(i), fmt.Sprintf("%s[%d]", path, i), f)
		}
	case reflect.Map:
		for _, k := range slices.Sorted(maps.Keys(v.Interface().(map[string]Column))) {
			leaves(v.MapIndex(reflect.ValueOf(k)), join(path, k), f)
		}
	default:
		f(path, fmt.Sprint(v))
	}
}

// allKeys returns the path of every key that holds a value, with [] for a list's
// entries and no name for a column.
func allKeys() map[string]reflect.StructField {
	all := map[string]reflect.StructField{}
	var walk func(t reflect.Type, path string)
	walk = func(t reflect.Type, path string) {
		for f := range fieldsOf(t) {
			p, ft := join(path, f.key), f.Type
			if ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct {
				p, ft = p+"[]", ft.Elem()
			}
			if ft.Kind() == reflect.Map {
				ft = ft.Elem()
			}
			if isSection(ft) {
				walk(ft, p)
			} else {
				all[p] = f.StructField
			}
		}
	}
	walk(reflect.TypeFor[Config](), "")
	return all
}

// isSection reports whether t is a mapping of keys.
func isSection(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for range fieldsOf(t) {
		return true
	}
	return false
}
