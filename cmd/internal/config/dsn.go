package config

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// ConnString returns the connection string of the source, resolved anew. The
// error is a *SecretError or a *DSNError; neither holds any part of the string.
func (s *Source) ConnString(env Lookup) (string, error) {
	dsn, err := s.DSN.resolve(env, escapeFor(s.DSN.text()))
	if err != nil {
		return "", err
	}
	words, err := parseDSN(dsn)
	if err != nil {
		return "", &DSNError{err.Error(), "write postgresql://user@host/database?sslmode=verify-full or user=… host=… dbname=… sslmode=verify-full"}
	}
	if err := words.checkTLS(env); err != nil {
		return "", err
	}
	return dsn, nil
}

// DSNError says what is wrong with a connection string.
type DSNError struct{ problem, fix string }

func (e *DSNError) Error() string { return "connection string of source.dsn: " + e.problem }

// Code implements the error contract of package service.
func (e *DSNError) Code() string { return "dsn_refused" }

// Fix implements the error contract of package service.
func (e *DSNError) Fix() string { return e.fix }

// words are the settings of a connection string
// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING).
// Only what libpq, pgx and this parser read alike is accepted; a fuzz test holds
// pgx to that.
type words map[string]string

// knownWords are the settings that pgx acts on. Others would be sent to the
// server as its own; capture pins those that matter.
var knownWords = []string{
	"host", "port", "dbname", "user", "password", "passfile", "connect_timeout", "application_name", "target_session_attrs",
	"sslmode", "sslrootcert", "sslcert", "sslkey", "sslpassword", "sslcertmode", "sslsni", "sslnegotiation",
	"channel_binding", "require_auth", "krbsrvname", "krbspn", "service",
}

func (w words) add(key, value string) error {
	if !slices.Contains(knownWords, key) {
		return errors.New("it has a setting that isn't known") // which may be half a password
	}
	if _, ok := w[key]; ok {
		return fmt.Errorf("%s is there twice", key)
	}
	w[key] = value
	return nil
}

func isURL(s string) bool {
	return strings.HasPrefix(s, "postgres://") || strings.HasPrefix(s, "postgresql://")
}

func parseDSN(s string) (words, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, errors.New("it holds a zero byte")
	}
	if isURL(s) {
		return parseURL(s)
	}
	return parseWords(s)
}

// dsnURL is user and password, hosts, path and query.
var dsnURL = regexp.MustCompile(`^postgres(?:ql)?://(?:([^@/?#\[\]:]*)(?::([^@/?#\[\]:]*))?@)?([A-Za-z0-9._,:%\[\]-]*)(?:/([^/?#]*))?(?:\?([^?#]*))?$`)

func parseURL(s string) (words, error) {
	m := dsnURL.FindStringSubmatch(s)
	if m == nil {
		return nil, errors.New("not a URL, or a special character in it isn't written as %XX")
	}
	w := words{}
	set := func(key, value string) error {
		if value == "" {
			return nil
		}
		value, err := url.PathUnescape(value)
		if err != nil {
			return errors.New("a % isn't followed by two hexadecimal digits")
		}
		return w.add(key, value)
	}
	var hosts []string
	for h := range strings.SplitSeq(m[3], ",") {
		host, err := cutPort(h)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, host)
	}
	errs := []error{set("user", m[1]), set("password", m[2]), set("host", strings.Join(hosts, ",")), set("dbname", m[4])}
	for pair := range strings.SplitSeq(m[5], "&") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok && m[5] != "" {
			errs = append(errs, errors.New("its query isn't key=value&key=value"))
		}
		errs = append(errs, set(key, value))
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// cutPort takes the port off a host of a URL, and the brackets off an IPv6 address.
func cutPort(h string) (string, error) {
	if rest, ok := strings.CutPrefix(h, "["); ok {
		host, port, ok := strings.Cut(rest, "]")
		if !ok || port != "" && port[0] != ':' || net.ParseIP(host) == nil {
			return "", errors.New("an IPv6 address in it isn't one")
		}
		return host, nil
	}
	host, _, _ := strings.Cut(h, ":")
	if strings.ContainsAny(host, "[]") {
		return "", errors.New("a bracket in it belongs to no IPv6 address")
	}
	return host, nil
}

const spaces = " \t\n\r\v\f"

// parseWords parses key=value words as libpq does: spaces around = are allowed,
// values may stand in single quotes, a backslash escapes.
func parseWords(s string) (words, error) {
	w := words{}
	for s = strings.TrimLeft(s, spaces); s != ""; s = strings.TrimLeft(s, spaces) {
		key, rest, ok := strings.Cut(s, "=")
		key = strings.Trim(key, spaces)
		if !ok || key == "" || strings.ContainsAny(key, spaces) {
			return nil, errors.New("neither a URL nor key=value words")
		}
		value, rest, err := cutValue(strings.TrimLeft(rest, spaces))
		if err != nil {
			return nil, err
		}
		if err := w.add(key, value); err != nil {
			return nil, err
		}
		s = rest
	}
	if len(w) == 0 {
		return nil, errors.New("it is empty")
	}
	return w, nil
}

func cutValue(s string) (value, rest string, err error) {
	var b strings.Builder
	quoted := strings.HasPrefix(s, "'")
	if quoted {
		s = s[1:]
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			if i++; i < len(s) {
				b.WriteByte(s[i])
			}
		case quoted && c == '\'':
			return b.String(), s[i+1:], nil
		case !quoted && strings.IndexByte(spaces, c) >= 0:
			return b.String(), s[i:], nil
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return "", "", errors.New("a quote in it isn't closed")
	}
	return b.String(), "", nil
}

// checkTLS demands sslmode verify-full for a host that isn't this machine. What
// the string leaves out, pgx takes from libpq's environment variables, so they
// count too.
func (w words) checkTLS(env Lookup) error {
	get := func(key, variable string) string {
		if v, ok := w[key]; ok {
			return v
		}
		v, _ := env(variable)
		return v
	}
	if get("service", "PGSERVICE") != "" {
		return &DSNError{"a service file may say anything", "write host and sslmode into the connection string instead of service"}
	}
	if get("sslmode", "PGSSLMODE") == "verify-full" {
		return nil
	}
	for host := range strings.SplitSeq(get("host", "PGHOST"), ",") {
		if !local(host) {
			return &DSNError{"the host isn't this machine and sslmode isn't verify-full", "add sslmode=verify-full, and sslrootcert=… if the server's certificate has its own authority"}
		}
	}
	return nil
}

// local reports whether host is a loopback address or a Unix socket's directory;
// no host at all is one of the two.
func local(host string) bool {
	if host == "" || host == "localhost" || strings.HasPrefix(host, "/") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// dsnProblem finds what the file itself shows of a wrong DSN.
func (s Secret) dsnProblem() (problem, do string) {
	text := s.text()
	if text == "" || s.isReference() {
		return "", ""
	}
	// A name that is a word in both notations takes the place of each reference.
	const stand = "reference"
	w, err := parseDSN(reference.ReplaceAllString(text, stand))
	if err != nil {
		return "not a connection string: " + err.Error(), "write file:/path, ${NAME}, or a connection string with its password as ${NAME}"
	}
	for _, k := range []string{"password", "sslpassword"} {
		if v := w[k]; v != "" && v != stand {
			return "a password stands in the file", "write ${NAME} in its place, or the whole connection string as file:/path"
		}
	}
	if !reference.MatchString(text) {
		none := func(string) (string, bool) { return "", false }
		if e, ok := errors.AsType[*DSNError](w.checkTLS(none)); ok && w["sslmode"] != "" {
			return e.problem, e.fix
		}
	}
	return "", ""
}

// escapeFor returns how a value is written in the place of ${NAME} in text.
func escapeFor(text string) func(before, after, value string) (string, error) {
	return func(before, after, value string) (string, error) {
		switch {
		case before == "" && after == "":
			return value, nil
		case isURL(text):
			return strings.ReplaceAll(url.QueryEscape(value), "+", "%20"), nil
		}
		quoted := strings.HasSuffix(before, "'") && strings.HasPrefix(after, "'")
		if !quoted && strings.ContainsAny(value, spaces) {
			return "", errors.New("the value has a space in it: put the reference in single quotes, as in password='${NAME}'")
		}
		return strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(value), nil
	}
}
