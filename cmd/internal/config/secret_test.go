package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSecretNeverPrints tries every way in which a struct ends up in a log.
func TestSecretNeverPrints(t *testing.T) {
	s := NewSecret("postgresql://cdc:hunter2@127.0.0.1/shop")
	type inner struct {
		Exported   Secret
		unexported Secret
	}
	type outer struct {
		c Config
		i inner
		p *Secret
	}
	c := Config{Source: Source{DSN: s}}
	o := outer{c, inner{s, s}, &s}
	_, _ = o.i.unexported, o.p
	var out bytes.Buffer
	for _, v := range []any{s, &s, c, &c, o, &o, []Secret{s}, map[string]Secret{"a": s}, c.Source} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T"} {
			fmt.Fprintf(&out, verb, v)
		}
		if data, err := json.Marshal(v); err == nil {
			out.Write(data)
		}
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "v", v)
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "v", v)
	}
	for _, bad := range []string{"hunter2", fmt.Sprintf("%x", "hunter2")} {
		if strings.Contains(out.String(), bad) {
			t.Errorf("the secret shows: %s", out.String())
		}
	}
	if !strings.Contains(out.String(), redacted) {
		t.Error("nothing was redacted: the test is broken")
	}
}

func TestSecretIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dsn")
	s := NewSecret("file:" + path)
	if _, err := s.Resolve(noEnv); err == nil {
		t.Error("no file, no error")
	}
	for _, want := range []string{"first", "second"} {
		if err := os.WriteFile(path, []byte(want+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := s.Resolve(noEnv); err != nil || got != want {
			t.Errorf("got %q %v, want %q", got, err, want)
		}
	}
}

func TestSecretRefusals(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file:" + path
	}
	for name, ref := range map[string]string{
		"empty file": write("empty", "\n"),
		"zero byte":  write("zero", "hunter2\x00"),
		"not UTF-8":  write("latin", "hunter2\xff"),
		"too long":   write("long", strings.Repeat("hunter2", maxSecretBytes)),
		"a folder":   "file:" + dir,
		"no file":    "file:" + dir + "/none",
		"no name":    "${NONE}",
		"empty name": "${EMPTY}",
	} {
		_, err := NewSecret(ref).Resolve(vars("EMPTY", ""))
		e, ok := errors.AsType[*SecretError](err)
		if !ok || e.Code() != "secret_unavailable" || e.Fix() == "" || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestParseResolvesNothing decodes a file whose secrets don't exist.
func TestParseResolvesNothing(t *testing.T) {
	asked := map[string]bool{}
	env := func(name string) (string, bool) {
		asked[name] = true
		return "", false
	}
	data := strings.Replace(minimal(t), "'file:/secrets/dsn'", "'${SHOP_DSN}'", 1)
	if _, err := Parse("cdc.yaml", []byte(data), env); err != nil {
		t.Fatal(err)
	}
	if asked["SHOP_DSN"] {
		t.Error("the secret was resolved")
	}
}

func TestConnString(t *testing.T) {
	file := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(file, []byte("postgresql://cdc:hunter2@db/shop?sslmode=verify-full"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ dsn, value, want string }{
		{"file:" + file, "", "postgresql://cdc:hunter2@db/shop?sslmode=verify-full"},
		{"${V}", "host=127.0.0.1 user=cdc", "host=127.0.0.1 user=cdc"},
		{"postgresql://cdc:${V}@localhost/shop", "p@ss/w+r d'", "postgresql://cdc:p%40ss%2Fw%2Br%20d%27@localhost/shop"},
		{"host=/run/postgresql password='${V}'", `a' sslmode=disable \`, `host=/run/postgresql password='a\' sslmode=disable \\'`},
		{"host=/run/postgresql password=${V}", `a'b\`, `host=/run/postgresql password=a\'b\\`},
		{"postgresql:///shop?host=/run/postgresql&user=${V}", "cdc", "postgresql:///shop?host=/run/postgresql&user=cdc"},
		{"postgresql://[::1]:5432/shop", "", "postgresql://[::1]:5432/shop"},
		{"host = db sslmode = 'verify-full'", "", "host = db sslmode = 'verify-full'"},
	} {
		s := Source{DSN: NewSecret(tt.dsn)}
		if got, err := s.ConnString(vars("V", tt.value)); err != nil || got != tt.want {
			t.Errorf("%s: got %s %v", tt.dsn, got, err)
		}
	}
	for _, tt := range []struct {
		dsn string
		env Lookup
	}{
		{"postgresql://cdc@db/shop", noEnv},
		{"postgresql://cdc@db/shop?sslmode=verify-ca", noEnv},
		{"postgresql://cdc@localhost,db/shop?sslmode=require", noEnv},
		{"postgresql://cdc@localhost/shop?host=db", noEnv},
		{"postgresql://cdc@localhost/shop?sslmode=verify-full&sslmode=disable", noEnv},
		{"host=10.0.0.1 sslmode=prefer", noEnv},
		{"dbname=shop", vars("PGHOST", "db")},
		{"dbname=shop service=x", noEnv},
		{"dbname=shop", vars("PGSERVICE", "x")},
		{"host=db password=${V}", vars("V", "a sslmode=verify-full")},
		{"host='db", noEnv},
		{"shop", noEnv},
		{"postgresql://%zz", noEnv},
	} {
		s := Source{DSN: NewSecret(tt.dsn)}
		got, err := s.ConnString(tt.env)
		if err == nil {
			t.Errorf("%s: accepted as %s", tt.dsn, got)
		} else if e, ok := errors.AsType[interface {
			error
			Code() string
			Fix() string
		}](err); !ok || e.Code() == "" || e.Fix() == "" {
			t.Errorf("%s: %v has no code and fix", tt.dsn, err)
		}
	}
	if _, err := (&Source{DSN: NewSecret("dbname=shop")}).ConnString(vars("PGHOST", "db", "PGSSLMODE", "verify-full")); err != nil {
		t.Error(err)
	}
}
