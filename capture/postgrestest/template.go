package postgrestest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Superuser is the role that initdb makes and DSN uses.
const Superuser = "postgres"

// initdbArgs make every machine's template alike: UTF-8, byte order, passwords for everybody.
var initdbArgs = []string{
	"--username=" + Superuser, "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--data-checksums", "--no-sync", "--no-instructions",
}

// A template is a data folder as initdb leaves it, and the password that it was made with.
type template struct {
	data     string
	password string
}

// makeTemplate returns the template of this installation, made by the first caller on this machine.
func makeTemplate(ctx context.Context, acct account, in Install) (template, error) {
	cache, err := cacheFolder(acct)
	if err != nil {
		return template{}, err
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%d\n%q", in.Bin, in.Version, acct.uid, initdbArgs))
	dir, err := once(ctx, cache, fmt.Sprintf("template-%s-%x", in.Version, key[:6]), func(temp string) error {
		return initdb(ctx, acct, in, temp)
	})
	if err != nil {
		return template{}, err
	}
	password, err := os.ReadFile(filepath.Join(dir, "password"))
	if err != nil {
		return template{}, fmt.Errorf("read the template's password: %w", err)
	}
	return template{data: filepath.Join(dir, "data"), password: strings.TrimSpace(string(password))}, nil
}

func initdb(ctx context.Context, acct account, in Install, dir string) error {
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(rand.Text()+"\n"), 0o600); err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	for _, path := range []string{password, data} {
		if err := acct.own(path); err != nil {
			return fmt.Errorf("give %s to uid %d: %w", path, acct.uid, err)
		}
	}
	args := append([]string{"--pgdata=" + data, "--pwfile=" + password}, initdbArgs...)
	out, err := acct.command(ctx, data, in.libs, in.program("initdb"), args...).CombinedOutput()
	if err != nil {
		return startFailed(string(out), "run initdb: %w", err)
	}
	return nil
}

// copyTo copies the data folder. cp runs as the server's account, so that the copy belongs to it.
func (t template) copyTo(ctx context.Context, acct account, data string) error {
	out, err := acct.command(ctx, "/", nil, "cp", "-R", t.data, data).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copy the template: %w: %s", err, out)
	}
	if err := os.Chmod(data, 0o700); err != nil {
		return fmt.Errorf("close the data folder: %w", err)
	}
	return nil
}
