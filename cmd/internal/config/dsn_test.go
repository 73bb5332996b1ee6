package config

import (
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// FuzzConnString holds the check of TLS against pgx's own reading: whatever is
// accepted, pgx goes to this machine or verifies the server's name, in its
// fallbacks too.
func FuzzConnString(f *testing.F) {
	for _, s := range []string{
		"postgresql://cdc:x@db/shop?sslmode=verify-full",
		"postgresql://cdc@localhost,db:5433/shop?sslmode=require&host=/run",
		"postgres://[::1]:5432/shop",
		"host=db user=cdc sslmode=verify-full password='a\\' b'",
		"host = 'db' sslmode = disable",
		"host=localhost,db dbname=shop",
		"host=127.0.0.1 port=1,2",
		`host=\/run sslmode='verify-full\'`,
		"dbname=shop",
		"postgres://#",
		`host=\ `,
		"postgres://%2Frun%2Fpostgresql/shop?ssl=true&sslmode=verify-full",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, dsn string) {
		if dsn == "" || strings.Contains(dsn, "${") || strings.HasPrefix(dsn, "file:") {
			return
		}
		for _, name := range []string{"PGHOST", "PGSSLMODE", "PGSERVICE", "PGPORT"} {
			t.Setenv(name, "")
		}
		s := Source{DSN: NewSecret(dsn)}
		accepted, err := s.ConnString(noEnv)
		if err != nil {
			return
		}
		c, err := pgconn.ParseConfig(accepted)
		if err != nil {
			return // pgx doesn't connect
		}
		safe := func(host string, verified bool) {
			ip := net.ParseIP(host)
			if !verified && host != "localhost" && !strings.HasPrefix(host, "/") && (ip == nil || !ip.IsLoopback()) {
				t.Errorf("%q: pgx connects to %q without verify-full", dsn, host)
			}
		}
		safe(c.Host, c.TLSConfig != nil && !c.TLSConfig.InsecureSkipVerify && c.TLSConfig.ServerName != "")
		for _, fb := range c.Fallbacks {
			safe(fb.Host, fb.TLSConfig != nil && !fb.TLSConfig.InsecureSkipVerify && fb.TLSConfig.ServerName != "")
		}
	})
}

// FuzzEscape puts any password into the place of ${PW}, and finds it again as it
// was, with nothing else changed.
func FuzzEscape(f *testing.F) {
	for _, s := range []string{"hunter2", "a b", `a'b\`, "p@ss/w?rd#+%", "' sslmode=disable", "ü", `\`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if password == "" || strings.ContainsRune(password, 0) {
			return
		}
		for _, text := range []string{
			"host=/run/postgresql user=cdc password='${PW}' dbname=shop",
			"host=/run/postgresql user=cdc password=${PW} dbname=shop",
			"postgresql://cdc:${PW}@localhost/shop",
			"postgresql://localhost/shop?user=cdc&password=${PW}",
		} {
			s := Source{DSN: NewSecret(text)}
			dsn, err := s.ConnString(vars("PW", password))
			if err != nil {
				if strings.Contains(text, "=${PW} ") {
					continue // a space must be quoted
				}
				t.Fatalf("%s: %v", text, err)
			}
			w, err := parseDSN(dsn)
			if err != nil || w["password"] != password || w["user"] != "cdc" || len(w) > 4 {
				t.Fatalf("%s: got %q %v, want %q", text, w, err, password)
			}
			c, err := pgconn.ParseConfig(dsn)
			if err != nil || c.Password != password || c.User != "cdc" || c.Database != "shop" {
				t.Fatalf("%s: pgx reads %q, %v; want %q", text, c.Password, err, password)
			}
		}
	})
}
