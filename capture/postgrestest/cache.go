package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// EnvCache names the environment variable with the folder that keeps templates and unpacked packages.
const EnvCache = "CDC_CACHE"

// cacheFolder returns a folder that we may write and the account can reach, made if missing.
func cacheFolder(acct account) (string, error) {
	if dir := os.Getenv(EnvCache); dir != "" {
		dir = filepath.Join(dir, "postgres")
		if err := usableCache(acct, dir); err != nil {
			return "", fmt.Errorf("use %s: %w", EnvCache, err)
		}
		return dir, nil
	}
	var candidates []string
	if dir, err := os.UserCacheDir(); err == nil {
		candidates = append(candidates, filepath.Join(dir, "cdc", "postgres"))
	}
	if acct.other {
		candidates = append(candidates, "/var/cache/cdc/postgres")
	}
	candidates = append(candidates, filepath.Join(os.TempDir(), fmt.Sprintf("cdc-cache-%d", os.Geteuid()), "postgres"))
	var all []error
	for _, dir := range candidates {
		err := usableCache(acct, dir)
		if err == nil {
			return dir, nil
		}
		all = append(all, err)
	}
	return "", fmt.Errorf("find a cache folder: %w", errors.Join(all...))
}

// usableCache makes the folder. Programs are run from it, so it must be ours and closed to other writers.
func usableCache(acct account, dir string) error {
	// Look before making anything: a folder of ours deep inside one that the account can't enter would be litter.
	exists := filepath.Dir(dir)
	for {
		if _, err := os.Stat(exists); err == nil || exists == filepath.Dir(exists) {
			break
		}
		exists = filepath.Dir(exists)
	}
	if !acct.canReach(exists) {
		return fmt.Errorf("uid %d can't reach %s", acct.uid, exists)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		info, err := os.Lstat(d)
		if err != nil {
			return err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok || !info.IsDir() || (int(st.Uid) != os.Geteuid() && st.Uid != 0) || info.Mode().Perm()&0o002 != 0 {
			return fmt.Errorf("%s must be a folder of uid %d that not everybody can write", d, os.Geteuid())
		}
	}
	if !acct.canReach(dir) {
		return fmt.Errorf("uid %d can't reach %s", acct.uid, dir)
	}
	return nil
}

// once makes dir/name by calling build with an empty temporary folder, which then gets the name. It does nothing when the
// name is there. Test binaries of several packages run at the same time: one builds, the others wait for its lock, which the
// kernel drops if it dies; what it left behind is then cleared away by the next.
func once(ctx context.Context, dir, name string, build func(temp string) error) (string, error) {
	final := filepath.Join(dir, name)
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	lock, err := os.OpenFile(final+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", fmt.Errorf("lock the cache: %w", err)
	}
	defer lock.Close()
	if err := waitForLock(ctx, lock); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	if _, err := os.Stat(final); err == nil {
		return final, nil
	}
	// A name of its own: a program that a dead builder started may still be writing to the last one.
	if stale, err := filepath.Glob(final + ".part-*"); err == nil {
		for _, dir := range stale {
			os.RemoveAll(dir) // what resists goes next time
		}
	}
	temp, err := os.MkdirTemp(dir, name+".part-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(temp, 0o755); err != nil {
		return "", err
	}
	if err := build(temp); err != nil {
		os.RemoveAll(temp)
		return "", err
	}
	if err := os.Rename(temp, final); err != nil {
		return "", fmt.Errorf("keep %s: %w", final, err)
	}
	return final, nil
}

// waitForLock polls, because a blocked flock can't be cancelled.
func waitForLock(ctx context.Context, f *os.File) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}
