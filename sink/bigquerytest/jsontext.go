package bigquerytest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math/big"
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
	errJSONText   = errors.New("not JSON")
	errJSONDepth  = errors.New("nested deeper than 500")
	errJSONNumber = errors.New("a number beyond FLOAT64")
	errJSONExact  = errors.New("a number that can't be stored without loss of precision")
)

// checkJSON says whether b is one JSON value in valid UTF-8 that nests at most
// 500 deep and whose numbers FLOAT64 has room for; with exact, also whether
// each is stored without loss.
func checkJSON(b []byte, exact bool) error {
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
		case c == '-' || c >= '0' && c <= '9':
			n := numberBytes(b[i:])
			if err := checkJSONNumber(b[i:i+n], exact); err != nil {
				return err
			}
			i += n - 1
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

// numberBytes is the length of the number that valid JSON goes on with.
func numberBytes(b []byte) int {
	for i, c := range b {
		if (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c != 'e' && c != 'E' {
			return i
		}
	}
	return len(b)
}

// shortNumber is how many bytes a number without an exponent may have and
// certainly be within FLOAT64; the longest exact one is shorter.
const (
	shortNumber = 300
	exactNumber = 15
)

func checkJSONNumber(b []byte, exact bool) error {
	if len(b) <= exactNumber || (!exact && len(b) <= shortNumber) {
		if !bytes.ContainsAny(b, "eE") {
			return nil
		}
	}
	f, err := strconv.ParseFloat(string(b), 64)
	switch {
	case err != nil:
		return errJSONNumber
	case !exact || isJSONInteger(string(b)):
		return nil
	}
	return sameDecimal(b, strconv.AppendFloat(nil, f, 'g', -1, 64))
}

// isJSONInteger says whether a number is stored as an integer.
func isJSONInteger(s string) bool {
	_, signed := strconv.ParseInt(s, 10, 64)
	_, unsigned := strconv.ParseUint(s, 10, 64)
	return signed == nil || unsigned == nil
}

// sameDecimal refuses a number that another writes with another value.
func sameDecimal(a, b []byte) error {
	x, xe, err := splitDecimal(a)
	if err != nil {
		return errJSONExact // longer than any number that is exact
	}
	y, ye, err := splitDecimal(b)
	if err != nil {
		return err
	}
	for _, n := range []struct {
		digits   *big.Int
		exponent *int64
	}{{x, &xe}, {y, &ye}} {
		for ten, rest := big.NewInt(10), new(big.Int); n.digits.Sign() != 0; *n.exponent++ {
			quotient, _ := new(big.Int).QuoRem(n.digits, ten, rest)
			if rest.Sign() != 0 {
				break
			}
			n.digits.Set(quotient)
		}
	}
	if x.Cmp(y) != 0 || (x.Sign() != 0 && xe != ye) {
		return errJSONExact
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
	if err != nil {
		return s // checkJSONNumber has refused it before
	}
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if strings.Trim(text, "-0123456789") == "" {
		text += ".0"
	}
	return text
}
