package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
)

// maxSecretBytes is the most that is read of a secret's file.
const maxSecretBytes = 64 << 10

// Secret is a value that the file names and doesn't hold: file:/path, or a text
// with ${NAME} in it. It never prints: a struct that holds one can be logged.
type Secret struct {
	// A pointer, because fmt prints unexported fields of a struct in another
	// struct's unexported field without asking for methods.
	reference *string
}

// NewSecret returns the Secret of a reference as the file writes it.
func NewSecret(reference string) Secret { return Secret{&reference} }

func (s Secret) text() string {
	if s.reference == nil {
		return ""
	}
	return *s.reference
}

// IsZero reports whether the file doesn't set the secret.
func (s Secret) IsZero() bool { return s.text() == "" }

const redacted = "[secret]"

// String returns [secret], never the value or its reference.
func (s Secret) String() string { return redacted }

// GoString returns [secret].
func (s Secret) GoString() string { return redacted }

// Format writes [secret] whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, redacted) }

// LogValue returns [secret].
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns [secret].
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

func (s *Secret) decode(d *decoder, n ast.Node, path string) {
	text, ok := d.text(n, path)
	k := d.keys[path]
	k.text = ""
	d.keys[path] = k
	if !ok {
		return
	}
	switch name, isFile := strings.CutPrefix(text, "file:"); {
	case text == "":
		d.finding(n, path, "the secret is empty", "write file:/path or ${NAME}")
	case isFile && !strings.HasPrefix(name, "/"):
		d.finding(n, path, "the path of the secret's file isn't absolute", "write file:/path")
	case !isFile && strings.Contains(reference.ReplaceAllString(text, ""), "${"):
		d.finding(n, path, "${ without a name and }", "write ${NAME}, with a name of A-Z, a-z, 0-9 and _")
	default:
		*s = NewSecret(text)
	}
}

var (
	reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)
	onlyRef   = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)
)

// isReference reports whether no part of the secret stands in the file.
func (s Secret) isReference() bool {
	return strings.HasPrefix(s.text(), "file:") || onlyRef.MatchString(s.text())
}

// SecretError says which secret can't be had. It never holds the secret.
type SecretError struct {
	What string // the environment variable or the file
	err  error
}

func (e *SecretError) Error() string { return fmt.Sprintf("resolve secret: %s: %v", e.What, e.err) }
func (e *SecretError) Unwrap() error { return e.err }

// Code implements the error contract of package service.
func (e *SecretError) Code() string { return "secret_unavailable" }

// Fix implements the error contract of package service.
func (e *SecretError) Fix() string {
	return "set the environment variable, or make the file readable for this process"
}

// Resolve returns the value. It reads the file or the environment each time, so
// that a rotated secret is seen.
func (s Secret) Resolve(env Lookup) (string, error) {
	return s.resolve(env, func(_, _, value string) (string, error) { return value, nil })
}

// resolve puts what escape makes of each value into the place of its ${NAME};
// before and after are the text around it.
func (s Secret) resolve(env Lookup, escape func(before, after, value string) (string, error)) (string, error) {
	if path, ok := strings.CutPrefix(s.text(), "file:"); ok {
		return readSecret(path)
	}
	var b strings.Builder
	text, end := s.text(), 0
	for _, m := range reference.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		value, ok := env(name)
		if !ok || value == "" {
			return "", &SecretError{"environment variable " + name, errors.New("not set")}
		}
		value, err := escape(text[:m[0]], text[m[1]:], value)
		if err != nil {
			return "", &SecretError{"environment variable " + name, err}
		}
		b.WriteString(text[end:m[0]] + value)
		end = m[1]
	}
	b.WriteString(text[end:])
	return b.String(), nil
}

func readSecret(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", &SecretError{"file " + path, errors.Unwrap(err)}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSecretBytes+1))
	data = bytes.TrimRight(data, "\r\n")
	switch {
	case err != nil:
	case len(data) > maxSecretBytes:
		err = fmt.Errorf("longer than %d bytes", maxSecretBytes)
	case len(data) == 0:
		err = errors.New("empty")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		err = errors.New("not a text in UTF-8")
	}
	if err != nil {
		return "", &SecretError{"file " + path, err}
	}
	return string(data), nil
}
