package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// self is the current user, also for root: the fakes lie in t.TempDir, which no other account can enter.
func self() account {
	return account{uid: uint32(os.Geteuid()), gid: uint32(os.Getegid())}
}

// fakeBin makes a folder with a postgres that knows its version, and an initdb.
func fakeBin(t *testing.T, dir, version string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %s (Test)'\n", version)
	for _, name := range []string{"postgres", "initdb"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// machine is a finder with a server at every step; tests take away what they don't want.
func machine(t *testing.T) (f finder, env, path, system, brew string) {
	t.Helper()
	root := t.TempDir()
	env = fakeBin(t, filepath.Join(root, "env"), "15.1")
	path = fakeBin(t, filepath.Join(root, "path"), "15.2")
	for _, version := range []string{"9.6", "14.99", "15.9", "15.10", "15.2"} {
		fakeBin(t, filepath.Join(root, "lib", version, "bin"), version)
	}
	system = fakeBin(t, filepath.Join(root, "lib", "15.10", "bin"), "15.10")
	fakeBin(t, filepath.Join(root, "brew", "postgresql@16", "bin"), "16.1")
	brew = fakeBin(t, filepath.Join(root, "brew", "postgresql@17", "bin"), "17rc1")
	f = finder{
		account:  self(),
		env:      env,
		lookPath: func(string) (string, error) { return filepath.Join(path, "postgres"), nil },
		globs:    [][]string{{filepath.Join(root, "lib/*/bin")}, {filepath.Join(root, "brew/postgresql@*/bin")}},
		unpack: func(context.Context, account) (Install, error) {
			return Install{Bin: "unpacked", Version: "15.18", Major: 15}, nil
		},
	}
	return f, env, path, system, brew
}

func notInPath(string) (string, error) { return "", exec.ErrNotFound }

func TestFindOrder(t *testing.T) {
	f, env, path, system, brew := machine(t)
	expect := func(step, bin, version string) {
		t.Helper()
		in, err := f.find(t.Context())
		if err != nil || in.Bin != bin || in.Version != version {
			t.Errorf("%s: found %s %s, %v; want %s %s", step, in.Bin, in.Version, err, bin, version)
		}
	}
	expect("environment", env, "15.1")
	f.env = ""
	expect("PATH", path, "15.2")
	f.lookPath = notInPath
	expect("highest of the system's, number by number", system, "15.10")
	f.globs[0] = []string{"/nonexistent/*"}
	expect("highest of Homebrew's", brew, "17rc1")
	f.globs[1] = []string{"/nonexistent/*"}
	expect("unpacked", "unpacked", "15.18")
}

func TestFindResolvesLinks(t *testing.T) {
	f, _, path, _, _ := machine(t)
	f.env = ""
	link := filepath.Join(t.TempDir(), "postgres") // as /usr/local/bin/postgres; there is no initdb beside it
	if err := os.Symlink(filepath.Join(path, "postgres"), link); err != nil {
		t.Fatal(err)
	}
	f.lookPath = func(string) (string, error) { return link, nil }
	if in, err := f.find(t.Context()); err != nil || in.Bin != path {
		t.Errorf("found %s, %v; want %s", in.Bin, err, path)
	}
}

// A server that can't be used is passed over, except the one that was asked for.
func TestFindPassesOver(t *testing.T) {
	spoil := map[string]func(t *testing.T, bin string){
		"no initdb":   func(t *testing.T, bin string) { os.Remove(filepath.Join(bin, "initdb")) },
		"no postgres": func(t *testing.T, bin string) { os.Remove(filepath.Join(bin, "postgres")) },
		"no program":  func(t *testing.T, bin string) { os.Chmod(filepath.Join(bin, "initdb"), 0o644) },
		"too old":     func(t *testing.T, bin string) { fakeBin(t, bin, "14.12") },
		"no version":  func(t *testing.T, bin string) { fakeBin(t, bin, "unknown") },
		"fails": func(t *testing.T, bin string) {
			os.WriteFile(filepath.Join(bin, "postgres"), []byte("#!/bin/sh\necho missing library; exit 1\n"), 0o755)
		},
	}
	for name, spoil := range spoil {
		t.Run(name, func(t *testing.T) {
			f, env, path, system, _ := machine(t)
			spoil(t, path)
			f.env = ""
			if in, err := f.find(t.Context()); err != nil || in.Bin != system {
				t.Errorf("found %s, %v; want %s", in.Bin, err, system)
			}
			spoil(t, env)
			f.env = env
			_, err := f.find(t.Context())
			e, ok := errors.AsType[*Error](err)
			if !ok || e.Code() != CodeBadBin || e.ExitCode() != 2 || !strings.Contains(e.Fix(), EnvBin) {
				t.Errorf("%s is spoilt: %v", EnvBin, err)
			}
		})
	}
}

// Where the server can't be used by the account that would run it, the next one is taken.
func TestFindPassesOverUnreachable(t *testing.T) {
	f, _, path, _, _ := machine(t)
	f.env = ""
	f.account = account{uid: f.account.uid + 12345, gid: f.account.gid + 12345} // owns nothing here, and t.TempDir is closed to others
	closed := filepath.Dir(path)
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	if in, err := f.find(t.Context()); err != nil || in.Bin != "unpacked" {
		t.Errorf("found %s, %v; want unpacked", in.Bin, err)
	}
}

func TestFindNothing(t *testing.T) {
	_, err := finder{
		account:  self(),
		lookPath: notInPath,
		globs:    [][]string{{"/nonexistent/*/bin"}},
		unpack: func(context.Context, account) (Install, error) {
			return Install{}, errors.New("no network")
		},
	}.find(t.Context())
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code() != CodeNotFound || e.ExitCode() != 2 {
		t.Fatalf("got %v", err)
	}
	for _, part := range []string{"/nonexistent/*/bin", "no network", "Type: " + installCommand(), EnvBin} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q doesn't say %q", err, part)
		}
	}
}

// One look a process, until the environment changes.
func TestFindOnce(t *testing.T) {
	t.Setenv(EnvBin, "/nonexistent/first")
	_, first := findOnce(t.Context(), nil)
	if _, again := findOnce(t.Context(), nil); first == nil || again != first {
		t.Errorf("looked twice: %v, %v", first, again)
	}
	t.Setenv(EnvBin, "/nonexistent/second")
	if _, second := findOnce(t.Context(), nil); second == nil || !strings.Contains(second.Error(), "/nonexistent/second") {
		t.Errorf("got %v", second)
	}
}

func TestParseVersion(t *testing.T) {
	for line, want := range map[string]string{
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n": "15.18",
		"postgres (PostgreSQL) 18.0":                             "18.0",
		"postgres (PostgreSQL) 19beta1":                          "19beta1",
		"postgres (PostgreSQL) 17.2 - Percona":                   "17.2",
		"psql 15":                                                "",
		"(PostgreSQL) 99999999999999999999.1":                    "",
		"":                                                       "",
	} {
		version, major, err := parseVersion(line)
		if want == "" {
			if err == nil {
				t.Errorf("%q: read as %s", line, version)
			}
			continue
		}
		if err != nil || version != want || !strings.HasPrefix(version, fmt.Sprint(major)) {
			t.Errorf("%q: %s, %d, %v; want %s", line, version, major, err, want)
		}
	}
}

// Ubuntu 22.04 and Debian 11 have an older Postgres: installing it, which is the usual advice, would lead back here.
func TestFindTooOld(t *testing.T) {
	old := fakeBin(t, filepath.Join(t.TempDir(), "14", "bin"), "14.12")
	_, err := finder{account: self(), lookPath: notInPath, globs: [][]string{{old}}, unpack: func(context.Context, account) (Install, error) {
		return Install{}, errors.New("no network")
	}}.find(t.Context())
	want := installCommand()
	if _, apt := exec.LookPath("apt-get"); apt == nil {
		want = newerCommand()
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(e.Fix(), "Type: "+want+"\n") || strings.Contains(want, "SUDO") {
		t.Fatalf("got %v", err)
	}
}
