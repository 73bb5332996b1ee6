package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"
)

const (
	durationExample = "a duration with its unit, such as 500ms, 30s, 10m, 24h or 90d"
	bytesExample    = "a size with its unit, such as 256MiB or 8MB"
)

// text returns the text of n.
func (d *decoder) text(n ast.Node, path string) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	}
	d.wrongType(n, path, "a text, in quotes if it looks like a number")
	return "", false
}

func (d *decoder) integer(n ast.Node, v reflect.Value, path string) {
	i, ok := n.(*ast.IntegerNode)
	if !ok {
		d.wrongType(n, path, "a whole number")
		return
	}
	switch x := i.Value.(type) {
	case int64:
		v.SetInt(x)
	case uint64:
		// Out of every range; the range's own finding says so.
		v.SetInt(int64(min(x, math.MaxInt64)))
	}
}

func (d *decoder) float(n ast.Node, v reflect.Value, path string) {
	switch x := n.(type) {
	case *ast.IntegerNode:
		switch i := x.Value.(type) {
		case int64:
			v.SetFloat(float64(i))
		case uint64:
			v.SetFloat(float64(i))
		}
	case *ast.FloatNode:
		v.SetFloat(x.Value)
	case *ast.InfinityNode:
		v.SetFloat(x.Value)
	case *ast.NanNode:
		v.SetFloat(math.NaN())
	default:
		d.wrongType(n, path, "a number")
	}
}

// decodeScalar decodes a text by parse.
func decodeScalar[T any](d *decoder, n ast.Node, path string, dst *T, parse func(string) (T, error), example string) {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		d.finding(n, path, "the number has no unit", "write "+example)
		return
	case *ast.StringNode:
	default:
		d.wrongType(n, path, example)
		return
	}
	v, err := parse(n.(*ast.StringNode).Value)
	if err != nil {
		d.finding(n, path, err.Error(), "write "+example)
		return
	}
	*dst = v
}

// parseDuration is time.ParseDuration with d for 24 hours and a unit required.
func parseDuration(s string) (time.Duration, error) {
	bad := fmt.Errorf("%q isn't a duration", s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > uint64(math.MaxInt64/(24*time.Hour)) {
			return 0, bad
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || s == "0" || s == "-0" || s == "+0" {
		return 0, bad
	}
	return v, nil
}

func formatDuration(v time.Duration) string {
	s := v.String()
	if t, ok := strings.CutSuffix(s, "m0s"); ok {
		s = t + "m"
	}
	if t, ok := strings.CutSuffix(s, "h0m"); ok {
		s = t + "h"
	}
	return s
}

// Bytes is a size in bytes.
type Bytes int64

// byteUnits from large to small, decimal after binary.
var byteUnits = []struct {
	name string
	size int64
}{
	{"PiB", 1 << 50},
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"PB", 1e15},
	{"TB", 1e12},
	{"GB", 1e9},
	{"MB", 1e6},
	{"KB", 1e3},
	{"kB", 1e3},
	{"B", 1},
}

func parseBytes(s string) (Bytes, error) {
	bad := fmt.Errorf("%q isn't a size", s)
	for _, u := range byteUnits {
		digits, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseFloat(digits, 64)
		if err != nil || digits[0] < '0' || digits[0] > '9' || strings.ContainsAny(digits, "xXpPeE_") {
			return 0, bad
		}
		if n *= float64(u.size); n >= math.MaxInt64 || n != math.Trunc(n) {
			return 0, bad
		}
		return Bytes(n), nil
	}
	return 0, bad
}

// String returns the size in the largest unit that leaves a whole number.
func (b Bytes) String() string {
	for _, u := range byteUnits {
		if b != 0 && int64(b)%u.size == 0 {
			return strconv.FormatInt(int64(b)/u.size, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}

func (b *Bytes) decode(d *decoder, n ast.Node, path string) {
	decodeScalar(d, n, path, b, parseBytes, bytesExample)
}

// Place is where state is kept. At most one field is set.
type Place struct {
	Schema string // in the source
	File   string // an absolute path
}

// String returns the notation of the file.
func (p Place) String() string {
	switch {
	case p.Schema != "":
		return "schema:" + p.Schema
	case p.File != "":
		return "file:" + p.File
	}
	return ""
}

func parsePlace(s string) (Place, error) {
	if name, ok := strings.CutPrefix(s, "schema:"); ok {
		if !forms["schema"].ok(name) {
			return Place{}, errors.New("the schema's name: " + forms["schema"].wants)
		}
		return Place{Schema: name}, nil
	}
	if path, ok := strings.CutPrefix(s, "file:"); ok && strings.HasPrefix(path, "/") && len(path) > 1 {
		return Place{File: path}, nil
	}
	return Place{}, fmt.Errorf("%q names no place for state", s)
}

func (p *Place) decode(d *decoder, n ast.Node, path string) {
	if path == "source.state_fallback" {
		decodeScalar(d, n, path, p, func(s string) (Place, error) {
			if !strings.HasPrefix(s, "file:") {
				return Place{}, fmt.Errorf("%q isn't a file", s)
			}
			return parsePlace(s)
		}, "file: and an absolute path")
		return
	}
	decodeScalar(d, n, path, p, parsePlace, "schema:NAME, or file: and an absolute path")
}

func (h *Hedging) decode(d *decoder, n ast.Node, path string) {
	switch s := n.(type) {
	case *ast.StringNode:
		if s.Value == "off" {
			h.Off = true
			return
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		m, _ := d.mapping(n, path)
		d.fields(m, reflect.ValueOf(h).Elem(), path)
		return
	}
	d.wrongType(n, path, "off, or delay, max_tokens and refill_ratio")
}

// Ordering is what keeps its order. The zero value takes that of defaults.
type Ordering struct {
	Kind string // OrderPrimaryKey, OrderHash or OrderNone
	Hash int    // buckets, for OrderHash; 1 to 65,536
}

const (
	defaultHash = 1024
	maxHash     = 65_536
)

// String returns the notation of the file.
func (o Ordering) String() string {
	if o.Kind == OrderHash {
		return fmt.Sprintf("{hash: %d}", o.Hash)
	}
	return o.Kind
}

func (o *Ordering) decode(d *decoder, n ast.Node, path string) {
	const want = "primary_key, none, hash, or {hash: N}"
	switch s := n.(type) {
	case *ast.StringNode:
		switch s.Value {
		case OrderPrimaryKey, OrderNone:
			*o = Ordering{Kind: s.Value}
		case OrderHash:
			*o = Ordering{Kind: s.Value, Hash: defaultHash}
		default:
			d.finding(n, path, fmt.Sprintf("%q isn't an ordering", s.Value), "write "+want)
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		m, _ := d.mapping(n, path)
		hash := struct {
			Hash int `yaml:"hash" need:"yes"`
		}{defaultHash}
		d.fields(m, reflect.ValueOf(&hash).Elem(), path)
		if hash.Hash < 1 || hash.Hash > maxHash {
			line, column := d.keys.at(path + ".hash")
			d.at(line, column, path+".hash", fmt.Sprintf("%d is out of range", hash.Hash), fmt.Sprintf("write 1 to %d", maxHash))
			return
		}
		*o = Ordering{Kind: OrderHash, Hash: hash.Hash}
	default:
		d.wrongType(n, path, want)
	}
}

// Staleness is BigQuery's max_staleness.
type Staleness struct {
	Auto     bool
	Interval time.Duration // 0 to 24 hours, if not Auto
}

// String returns the notation of the file.
func (s Staleness) String() string {
	if s.Auto {
		return "auto"
	}
	return formatDuration(s.Interval)
}

func (s *Staleness) decode(d *decoder, n ast.Node, path string) {
	decodeScalar(d, n, path, s, func(text string) (Staleness, error) {
		if text == "auto" {
			return Staleness{Auto: true}, nil
		}
		v, err := parseDuration(text)
		if err == nil && (v < 0 || v > 24*time.Hour) {
			err = fmt.Errorf("%s is out of range", text)
		}
		return Staleness{Interval: v}, err
	}, "auto, or a duration of 0s to 24h")
}
