package capture

import (
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Whatever keeps Run from starting has a code and a fix, also what the server or
// the file system says in its own words.
func TestStartErrorsHaveCodes(t *testing.T) {
	listen := func(t *testing.T, serve func(net.Conn)) func() (string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go serve(c)
			}
		}()
		_, port, _ := net.SplitHostPort(l.Addr().String())
		return func() (string, error) { return "host=127.0.0.1 sslmode=disable user=x dbname=x port=" + port, nil }
	}
	tests := []struct {
		name, code string
		act        func(t *testing.T, d *database, cfg *Config)
	}{
		{"state's table revoked", "state_unavailable", func(t *testing.T, d *database, cfg *Config) {
			d.admin(`ALTER TABLE cdc.tables OWNER TO current_user`)
		}},
		{"state's schema dropped", "not_initialized", func(t *testing.T, d *database, cfg *Config) { d.admin(`DROP SCHEMA cdc CASCADE`) }},
		{"state's table of another form", "state_unavailable", func(t *testing.T, d *database, cfg *Config) {
			d.admin(`ALTER TABLE cdc.state DROP COLUMN owner`)
		}},
		{"state's row can't be written", "state_unavailable", func(t *testing.T, d *database, cfg *Config) {
			d.admin(`CREATE FUNCTION no() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''no''; END'`,
				`CREATE TRIGGER no BEFORE UPDATE ON cdc.state EXECUTE FUNCTION no()`)
		}},
		{"state's file below a file", "state_unavailable", func(t *testing.T, d *database, cfg *Config) {
			file := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			cfg.StateSchema, cfg.StateFile = "", filepath.Join(file, "state.json")
		}},
		{"state's file is a folder", "state_unavailable", func(t *testing.T, d *database, cfg *Config) {
			cfg.StateSchema, cfg.StateFile = "", t.TempDir()
		}},
		{"catalog can't be read", "source_query", func(t *testing.T, d *database, cfg *Config) {
			d.admin(`REVOKE SELECT ON pg_publication FROM PUBLIC`)
		}},
		{"dsn isn't one", "source_dsn", func(t *testing.T, d *database, cfg *Config) {
			cfg.DSN = func() (string, error) { return "host=x port=secret", nil }
		}},
		{"server that hangs up", "source_unreachable", func(t *testing.T, d *database, cfg *Config) {
			cfg.DSN = listen(t, func(c net.Conn) { _ = c.Close() })
		}},
		{"server that speaks something else", "connect", func(t *testing.T, d *database, cfg *Config) {
			cfg.DSN = listen(t, func(c net.Conn) { _, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n")); _ = c.Close() })
		}},
		{"server without TLS", "connect", func(t *testing.T, d *database, cfg *Config) {
			dsn := d.dsn()
			cfg.DSN = func() (string, error) { return dsn[:len(dsn)-len("disable")] + "require", nil }
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
			cfg := d.config()
			cfg.pace.connectLimit = 300 * time.Millisecond
			mustInit(t, cfg)
			test.act(t, d, &cfg)
			if err := start(t, cfg, newRecorder(t, 0)).wait(); codeOf(t, err) != test.code {
				t.Errorf("Run: code %q, want %q: %v", codeOf(t, err), test.code, err)
			}
			if _, err := Init(t.Context(), cfg); err != nil && codeOf(t, err) == "" {
				t.Errorf("Init: %v", err)
			}
			if findings, err := Check(t.Context(), cfg); err != nil && codeOf(t, err) == "" {
				t.Errorf("Check: %v, %v", findings, err)
			}
		})
	}
}

// While an instance waits for the slot its own session may end.
func TestSessionLostWhileWaitingForSlot(t *testing.T) {
	t.Parallel()
	d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	mustInit(t, cfg)
	first := start(t, cfg, newRecorder(t, 0))
	eventually(t, "streaming", func() bool { return first.capture.Counters().WaitingFor == WaitingSource })
	cfg.ApplicationName = "second"
	second := start(t, cfg, newRecorder(t, 0))
	for i := 0; ; i++ {
		d.admin(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'second' AND datname = current_database()`)
		select {
		case err := <-second.done:
			second.done <- err
			if got := codeOf(t, err); got != "connection_lost" && got != "source_unreachable" {
				t.Errorf("%q: %v", got, err)
			}
			first.stop()
			return
		default:
		}
		if i == 1000 {
			t.Fatal("goes on without a session")
		}
	}
}
