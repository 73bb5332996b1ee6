package bigquerytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxJSONDepth is how deep a JSON value may nest.
//
// https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/data-types#json_type
const maxJSONDepth = 500

var (
	errJSONText  = errors.New("not JSON")
	errJSONDepth = errors.New("nested deeper than 500")
)

// checkJSON says whether b is one JSON value in valid UTF-8 that nests at most
// 500 deep.
func checkJSON(b []byte) error {
	if !utf8.Valid(b) || !json.Valid(b) {
		return errJSONText
	}
	depth, inText := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			if depth++; depth > maxJSONDepth {
				return errJSONDepth
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// jsonText is what the service would show of a JSON value: no spaces, the
// first of duplicate members, integers beyond 64 bits and other numbers as
// FLOAT64. The order of members isn't kept by the service; here it is sorted.
func jsonText(b []byte) string {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out strings.Builder
	if err := writeJSON(&out, d); err != nil {
		return string(b) // checkJSON has refused it before
	}
	return out.String()
}

func writeJSON(out *strings.Builder, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case json.Delim:
		if v == '[' {
			return writeJSONArray(out, d)
		}
		return writeJSONObject(out, d)
	case string:
		out.WriteString(jsonString(v))
	case json.Number:
		out.WriteString(jsonNumber(string(v)))
	case bool:
		out.WriteString(strconv.FormatBool(v))
	default:
		out.WriteString("null")
	}
	return nil
}

func writeJSONArray(out *strings.Builder, d *json.Decoder) error {
	out.WriteByte('[')
	for i := 0; d.More(); i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeJSON(out, d); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	_, err := d.Token()
	return err
}

func writeJSONObject(out *strings.Builder, d *json.Decoder) error {
	members := map[string]string{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, ok := token.(string)
		if !ok {
			return io.ErrUnexpectedEOF
		}
		var value strings.Builder
		if err := writeJSON(&value, d); err != nil {
			return err
		}
		if _, double := members[name]; !double {
			members[name] = value.String()
		}
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	out.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(jsonString(name) + ":" + members[name])
	}
	out.WriteByte('}')
	_, err := d.Token()
	return err
}

func jsonString(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return strconv.Quote(s)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// jsonNumber keeps integers from −2^63 to 2^64−1; every other number becomes
// the FLOAT64 that is nearest.
func jsonNumber(s string) string {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	if n, err := strconv.ParseUint(s, 10, 64); err == nil {
		return strconv.FormatUint(n, 10)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && math.IsInf(f, 0) {
		return s
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Trim(text, "-0123456789") == "" {
		text += ".0"
	}
	return text
}
