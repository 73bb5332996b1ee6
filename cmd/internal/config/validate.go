package config

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// validator checks a decoded Config: each field alone by its tags, then the
// relations between fields.
type validator struct {
	c        *Config
	env      Lookup
	file     string
	findings Findings
}

// add records a finding about the first of paths. A path that has one already,
// itself or above it, gets no second: what is compared then may not be what the
// file says.
func (v *validator) add(problem, do string, paths ...string) {
	for _, f := range v.findings {
		if f.Key != "" && slices.ContainsFunc(paths, func(p string) bool { return isUnder(p, f.Key) }) {
			return
		}
	}
	line, column := v.c.keys.at(paths[0])
	v.findings = append(v.findings, Finding{v.file, line, column, paths[0], problem, do})
}

// isUnder reports whether path is key or stands under it.
func isUnder(path, key string) bool {
	rest, ok := strings.CutPrefix(path, key)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (v *validator) validate() {
	v.fields(reflect.ValueOf(v.c).Elem(), "")
	v.source()
	v.pubsub()
	v.bigquery()
	v.tables()
	v.health()
}

// fields checks the tags of the struct s, and of all structs in it.
func (v *validator) fields(s reflect.Value, path string) {
	for f := range fieldsOf(s.Type()) {
		v.value(s.FieldByIndex(f.Index), f.Tag, join(path, f.key))
	}
}

func (v *validator) value(x reflect.Value, tag reflect.StructTag, path string) {
	switch {
	case x.Kind() == reflect.Slice:
		for i := range x.Len() {
			v.value(x.Index(i), tag, fmt.Sprintf("%s[%d]", path, i))
		}
		return
	case x.Kind() == reflect.Map:
		for _, k := range x.MapKeys() {
			v.value(x.MapIndex(k), tag, join(path, k.String()))
		}
		return
	case x.Kind() == reflect.Struct:
		v.fields(x, path)
		return
	}
	// An option that neither file nor defaults set is the zero value.
	if x.IsZero() && !v.c.Sets(path) {
		return
	}
	if words := tag.Get("enum"); words != "" && !slices.Contains(strings.Split(words, "|"), x.String()) {
		v.add(fmt.Sprintf("%q isn't known here", x.String()), "write "+orList(words), path)
	}
	if name := tag.Get("form"); name != "" && !forms[name].ok(x.String()) {
		v.add(fmt.Sprintf("%q isn't allowed", x.String()), "write "+forms[name].wants, path)
	}
	if r := tag.Get("range"); r != "" && !inRange(x, r) {
		low, high, _ := strings.Cut(r, "..")
		do := "write " + low + " to " + high
		if low == high {
			do = "write " + low
		}
		v.add(formatValue(x)+" is out of range", do, path)
	}
}

func orList(words string) string {
	w := strings.Split(words, "|")
	if len(w) == 1 {
		return w[0]
	}
	return strings.Join(w[:len(w)-1], ", ") + " or " + w[len(w)-1]
}

func formatValue(x reflect.Value) string {
	switch y := x.Interface().(type) {
	case time.Duration:
		return formatDuration(y)
	case float64:
		return strconv.FormatFloat(y, 'g', -1, 64)
	default:
		return fmt.Sprint(y)
	}
}

// inRange compares x with both ends of r, which are in the notation of x's type.
func inRange(x reflect.Value, r string) bool {
	low, high, _ := strings.Cut(r, "..")
	switch y := x.Interface().(type) {
	case time.Duration:
		return must(parseDuration(low)) <= y && y <= must(parseDuration(high))
	case Bytes:
		return must(parseBytes(low)) <= y && y <= must(parseBytes(high))
	case int:
		return must(strconv.Atoi(low)) <= y && y <= must(strconv.Atoi(high))
	case float64:
		return !math.IsNaN(y) && must(strconv.ParseFloat(low, 64)) <= y && y <= must(strconv.ParseFloat(high, 64))
	}
	panic("config: no range for " + x.Type().String())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func (v *validator) source() {
	s := &v.c.Source
	if s.Publication.Name == s.Publication.Inserts {
		v.add("both publications have one name", "give each its own", "source.publication.inserts", "source.publication.name")
	}
	if s.SlotLag.Warn >= s.SlotLag.Error {
		v.add(fmt.Sprintf("warn (%s) isn't below error (%s)", s.SlotLag.Warn, s.SlotLag.Error),
			"make warn the smaller one", "source.slot_lag.warn", "source.slot_lag.error")
	}
	if s.State.File != "" && s.State.File == s.StateFallback.File {
		v.add("this is the file of source.state", "name another file, on another volume", "source.state_fallback", "source.state")
	}
	for i, p := range s.Messages {
		if slices.Contains(s.Messages[:i], p) {
			v.add("the prefix is there twice", "keep one", fmt.Sprintf("source.messages[%d]", i))
		}
	}
	if problem, do := s.DSN.dsnProblem(); problem != "" {
		v.add(problem, do, "source.dsn")
	}
}

func (v *validator) pubsub() {
	p := &v.c.PubSub
	if p.Region == "" {
		if host, ok := v.env("PUBSUB_EMULATOR_HOST"); !ok || host == "" {
			v.add("the region is missing", "name the region of the endpoint, such as europe-west3: order holds within one region", "pubsub.region")
		}
	}
	v.hedging()
	if p.Unordered.AttemptTimeout > p.Unordered.TotalTimeout {
		v.add(fmt.Sprintf("an attempt (%s) may take longer than all of them (total_timeout %s)",
			formatDuration(p.Unordered.AttemptTimeout), formatDuration(p.Unordered.TotalTimeout)),
			"make total_timeout the longer one", "pubsub.unordered.total_timeout", "pubsub.unordered.attempt_timeout")
	}
	if p.Lease.Min > p.Lease.Max {
		v.add(fmt.Sprintf("min (%s) is longer than max (%s)", formatDuration(p.Lease.Min), formatDuration(p.Lease.Max)),
			"make max the longer one", "pubsub.lease.min", "pubsub.lease.max")
	}
	v.distinct("topic", "pubsub.ordered.topic", p.Ordered.Topic, "pubsub.unordered.topic", p.Unordered.Topic,
		"pubsub.dead_letter.topic", p.DeadLetter.Topic, "pubsub.requests.topic", p.Requests.Topic)
	v.distinct("subscription", "pubsub.ordered.subscription", p.Ordered.Subscription,
		"pubsub.unordered.subscription", p.Unordered.Subscription,
		"pubsub.dead_letter.subscription", p.DeadLetter.Subscription,
		"pubsub.requests.subscription", p.Requests.Subscription)
}

// hedging checks what the client library doesn't: it silently doesn't hedge when
// the delay isn't shorter than its timeout, and knows no timeout per attempt.
func (v *validator) hedging() {
	u := &v.c.PubSub.Unordered
	if u.Hedging.Off {
		return
	}
	for _, t := range []struct {
		key   string
		value time.Duration
	}{{"attempt_timeout", u.AttemptTimeout}, {"total_timeout", u.TotalTimeout}} {
		if u.Hedging.Delay >= t.value {
			v.add(fmt.Sprintf("the delay (%s) isn't shorter than %s (%s): nothing would ever be hedged",
				formatDuration(u.Hedging.Delay), t.key, formatDuration(t.value)),
				"shorten the delay or lengthen "+t.key, "pubsub.unordered.hedging.delay", "pubsub.unordered."+t.key)
		}
	}
}

// distinct takes paths and values in turn.
func (v *validator) distinct(what string, pairs ...string) {
	for i := 2; i < len(pairs); i += 2 {
		for j := 0; j < i; j += 2 {
			if pairs[i+1] == pairs[j+1] {
				v.add("this is the "+what+" of "+pairs[j], "give each its own "+what, pairs[i], pairs[j])
			}
		}
	}
}

func (v *validator) bigquery() {
	b := &v.c.BigQuery
	if v.c.Sets("bigquery.apply_budget") && !b.MaxStaleness.Auto {
		v.add("the budget is for max_staleness auto, which isn't set", "take one of the two out", "bigquery.apply_budget", "bigquery.max_staleness")
	}
}

func (v *validator) tables() {
	if len(v.c.Tables) == 0 {
		v.add("no table would be captured", "add an entry such as match: public.orders", "tables")
	}
	v.shadowed()
	for i, t := range v.c.Tables {
		path := fmt.Sprintf("tables[%d]", i)
		for name, c := range t.Columns {
			v.column(join(path+".columns", name), name, c)
		}
		if v.c.Sets(path+".history") && t.Mode == ModeCurrent {
			v.add("mode current has no history table", "write mode: history or both, or take history out", path+".history", path+".mode")
		}
		if v.c.Sets(path+".history.keep") && !v.c.Sets(path+".history.partition") {
			v.add("whole partitions are kept, and partition isn't set", "add partition, such as day", path+".history.keep", path+".history.partition")
		}
	}
}

// shadowed finds the entries that no table can reach: each is the text of an
// earlier one, or a single table that an earlier pattern matches.
func (v *validator) shadowed() {
	texts := map[string]int{}
	var patterns []int
	for i, t := range v.c.Tables {
		schema, name, exact := t.Match.Exact()
		text := t.Match.text
		if exact {
			text = schema + "\x00" + name // however it is quoted
		}
		j, ok := texts[text]
		if !ok && exact {
			n := slices.IndexFunc(patterns, func(p int) bool { return v.c.Tables[p].Match.Matches(schema, name) })
			if ok = n >= 0; ok {
				j = patterns[n]
			}
		}
		if ok {
			line, _ := v.c.keys.at(fmt.Sprintf("tables[%d].match", j))
			v.add(fmt.Sprintf("the entry of line %d matches this before", line), "put this entry before it or take it out", fmt.Sprintf("tables[%d].match", i))
			continue
		}
		texts[text] = i
		if !exact {
			patterns = append(patterns, i)
		}
	}
}

func (v *validator) column(path, name string, c Column) {
	if name == "" || len(name) > maxIdentifierBytes {
		v.add("no column is called so", "write a name of 1 to 63 bytes", path)
	}
	if c.Exclude && (c.Mask != "" || !c.Salt.IsZero() || c.Type != "" || c.BadValue != "") {
		v.add("the column is left out and something else is said about it", "take exclude out, or all the rest", path+".exclude")
	}
	if c.Mask != "" && c.Salt.IsZero() {
		v.add("the hash has no salt: short values could be guessed from it", "add salt: file:/path or ${NAME}", path+".mask", path+".salt")
	}
	if c.Mask == "" && !c.Salt.IsZero() {
		v.add("there is nothing to salt", "add mask: sha256 or take salt out", path+".salt", path+".mask")
	}
	if c.Mask != "" && c.Type != "" && c.Type != "STRING" && c.Type != "BYTES" {
		v.add("a hash doesn't fit into "+c.Type, "write STRING or BYTES, or take type out", path+".type", path+".mask")
	}
	if !c.Salt.IsZero() && !c.Salt.isReference() {
		v.add("the secret stands in the file", "write file:/path or ${NAME}", path+".salt")
	}
}

func (v *validator) health() {
	h := v.c.Health
	if h.Publisher == h.Sink && !strings.HasSuffix(h.Publisher, ":0") {
		v.add("both services have one address", "give each its own", "health.sink", "health.publisher")
	}
}

// Warnings returns what is allowed and probably not meant.
func (c *Config) Warnings(file string) Findings {
	u := &c.PubSub.Unordered
	if u.Hedging.Off || u.AttemptTimeout >= 5*u.Hedging.Delay {
		return nil
	}
	const path = "pubsub.unordered.hedging.delay"
	line, column := c.keys.at(path)
	return Findings{{
		file, line, column, path,
		fmt.Sprintf("attempt_timeout (%s) is less than 5 times the delay (%s): a hedge has little time to win",
			formatDuration(u.AttemptTimeout), formatDuration(u.Hedging.Delay)), "shorten the delay or lengthen attempt_timeout",
	}}
}
