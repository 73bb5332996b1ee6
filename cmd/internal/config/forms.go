package config

import (
	"net"
	"regexp"
	"strconv"
	"strings"
)

// form is what a name may look like.
type form struct {
	pattern string // a regular expression that Go and JSON Schema understand
	wants   string
	also    func(s string) bool // what pattern can't say; may be nil

	re *regexp.Regexp
}

func (f form) ok(s string) bool {
	return f.re.MatchString(s) && (f.also == nil || f.also(s))
}

var forms = map[string]form{
	// 50 leaves room for cdc_ and _inserts in a Postgres name of 63 bytes.
	"database": {pattern: `^[a-z][a-z0-9-]{0,49}$`, wants: "1 to 50 of a-z, 0-9 and -, a letter first"},
	// https://www.postgresql.org/docs/current/warm-standby.html#STREAMING-REPLICATION-SLOTS-MANIPULATION
	"slot": {pattern: `^[a-z0-9_]{1,63}$`, wants: "1 to 63 of a-z, 0-9 and _", also: not("pg_conflict_detection")},
	"publication": {
		pattern: `^[A-Za-z_][A-Za-z0-9_]{0,62}$`, wants: "1 to 63 of A-Z, a-z, 0-9 and _, no digit first",
	},
	"schema": {
		pattern: `^[a-z_][a-z0-9_]{0,62}$`, wants: "1 to 63 of a-z, 0-9 and _, no digit first; pg_ is Postgres' own, public the application's",
		also: func(s string) bool { return !strings.HasPrefix(s, "pg_") && s != "public" && s != "information_schema" },
	},
	"prefix": {pattern: `^.{1,255}$`, wants: "1 to 255 bytes", also: func(s string) bool { return len(s) <= 255 }},
	// https://cloud.google.com/resource-manager/docs/creating-managing-projects, and
	// the domain-scoped IDs of old projects. Google's own have 6 or more; stand-ins
	// take less.
	"project": {
		pattern: `^([a-z0-9.-]+:)?[a-z][a-z0-9-]{0,28}[a-z0-9]$`, wants: "a project ID: up to 30 of a-z, 0-9 and -, a letter first, no - last",
	},
	// https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names
	"pubsub": {
		pattern: `^[A-Za-z][A-Za-z0-9._~+%-]{2,254}$`, wants: "3 to 255 of A-Z, a-z, 0-9 and -._~+%, a letter first, not goog",
		also: func(s string) bool { return !strings.HasPrefix(strings.ToLower(s), "goog") },
	},
	"region":   {pattern: `^[a-z]+-[a-z]+[0-9]+$`, wants: "a region such as europe-west3; a multi-region keeps no order"},
	"location": {pattern: `^[A-Za-z][A-Za-z0-9-]{1,62}$`, wants: "a location such as EU or europe-west3"},
	// https://cloud.google.com/bigquery/docs/datasets#dataset-naming
	"dataset": {pattern: `^[A-Za-z0-9_]+$`, wants: "1 to 1,024 of A-Z, a-z, 0-9 and _", also: func(s string) bool { return len(s) <= 1024 }},
	// https://cloud.google.com/bigquery/docs/tables#table_naming, of which only
	// what needs no quoting in every tool.
	"template": {
		pattern: `^([A-Za-z0-9_-]|\{schema\})*\{table\}([A-Za-z0-9_-]|\{schema\})*$`,
		wants:   "A-Z, a-z, 0-9, _, -, {schema} and once {table}",
	},
	"address": {pattern: `^.*:[0-9]{1,5}$`, wants: "host:port, such as 127.0.0.1:8080 or :8080", also: address},
}

func init() {
	for name, f := range forms {
		f.re = regexp.MustCompile(f.pattern)
		forms[name] = f
	}
}

func not(word string) func(string) bool { return func(s string) bool { return s != word } }

func address(s string) bool {
	host, port, err := net.SplitHostPort(s)
	if err != nil || strings.ContainsAny(host, " /\t") {
		return false
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n <= 65535
}
