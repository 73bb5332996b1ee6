package control

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"google.golang.org/grpc/codes"
)

// maxDuration keeps sums of times far from an int64's end.
const maxDuration = 87_600 * time.Hour

// Decode reads a JSON object into the struct that v points to. A field that the
// struct doesn't have, or whose value doesn't fit, is an error that says what is
// allowed; fields that the object leaves out stay as they are.
func Decode(body []byte, v any) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(body, &object); err != nil {
		return fmt.Errorf("read the body, which must be one JSON object: %w", err)
	}
	target := reflect.ValueOf(v).Elem()
	names := fieldNames(target.Type())
	for name, raw := range object {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("unknown field %q; allowed: %s", name, strings.Join(names, ", "))
		}
		if err := decodeField(raw, target.Field(i).Addr().Interface()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func decodeField(raw json.RawMessage, field any) error {
	var err error
	switch f := field.(type) {
	case *time.Duration:
		var text string
		if err = json.Unmarshal(raw, &text); err == nil {
			*f, err = parseDuration(text)
		}
	case *codes.Code:
		var text string
		if err = json.Unmarshal(raw, &text); err == nil {
			*f, err = parseCode(text)
		}
	default:
		err = json.Unmarshal(raw, field)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("want %s, got %s", wanted(field), wrong.Value)
	}
	return err
}

// wanted says what JSON a field takes.
func wanted(field any) string {
	switch field.(type) {
	case *time.Duration:
		return `a duration in quotes, such as "250ms" or "1h"`
	case encoding.TextUnmarshaler, *codes.Code:
		return "a string"
	}
	switch reflect.TypeOf(field).Elem().Kind() {
	case reflect.Int:
		return "a whole number"
	case reflect.Bool:
		return "true or false"
	}
	return "a string"
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 || d > maxDuration {
		return 0, fmt.Errorf(`%q is not a duration from 0 to %s; write it as "250ms", "10s" or "1h30m"`, text, hours(maxDuration))
	}
	return d, nil
}

func hours(d time.Duration) string { return fmt.Sprintf("%dh", d/time.Hour) }

// codeName is a code as gRPC's protocol writes it.
func codeName(c codes.Code) string {
	if c == codes.Canceled {
		return "CANCELLED"
	}
	return strings.ToUpper(snake(c.String()))
}

// parseCode reads the name of an error's code.
func parseCode(text string) (codes.Code, error) {
	var names []string
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		if codeName(c) == text {
			return c, nil
		}
		names = append(names, codeName(c))
	}
	return 0, fmt.Errorf("unknown code %q; allowed: %s", text, strings.Join(names, ", "))
}

// Encode makes a struct an object with all its fields.
func Encode(v any) map[string]any { return encode(v, true) }

// EncodeSet makes a struct an object with those of its fields that aren't zero.
func EncodeSet(v any) map[string]any { return encode(v, false) }

func encode(v any, zero bool) map[string]any {
	from := reflect.ValueOf(v)
	out := map[string]any{}
	for i, name := range fieldNames(from.Type()) {
		f := from.Field(i)
		if f.IsZero() && !zero {
			continue
		}
		switch value := f.Interface().(type) {
		case time.Duration:
			out[name] = value.String()
		case codes.Code:
			out[name] = codeName(value)
		default:
			if f.Kind() == reflect.Map && f.IsNil() {
				value = struct{}{} // {}, not null
			}
			out[name] = value
		}
	}
	return out
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		names = append(names, snake(f.Name))
	}
	return names
}

// snake writes a Go name in snake_case: RESTByMethod is rest_by_method.
func snake(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) && i > 0 {
			afterLower := !unicode.IsUpper(runes[i-1])
			startsWord := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || startsWord {
				out.WriteByte('_')
			}
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
