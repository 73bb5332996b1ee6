package postgrestest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestOnceBuildsOnce(t *testing.T) {
	dir := t.TempDir()
	var built atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := once(t.Context(), dir, "thing", func(temp string) error {
				built.Add(1)
				return os.WriteFile(filepath.Join(temp, "file"), nil, 0o644)
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(got, "file")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if built.Load() != 1 {
		t.Errorf("built %d times", built.Load())
	}
}

func TestOnceAfterFailure(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("broken")
	if _, err := once(t.Context(), dir, "thing", func(temp string) error { return broken }); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
	// What a builder that was killed leaves behind.
	stale := filepath.Join(dir, "thing.part-1")
	if err := os.Mkdir(stale, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := once(t.Context(), dir, "thing", func(string) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "thing.part-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOnceWaitsNoLongerThanItsContext(t *testing.T) {
	dir := t.TempDir()
	_, err := once(t.Context(), dir, "thing", func(string) error {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := once(ctx, dir, "thing", func(string) error { return nil })
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the second got %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestCacheFolder(t *testing.T) {
	acct := serverAccount()
	root, err := acct.tempFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	mine := filepath.Join(root, "mine")
	if err := os.Mkdir(mine, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvCache, mine)
	if dir, err := cacheFolder(acct); err != nil || dir != filepath.Join(mine, "postgres") {
		t.Errorf("got %s, %v", dir, err)
	}
	// Anybody could put a program there.
	if err := os.Chmod(mine, 0o777); err != nil {
		t.Fatal(err)
	}
	if dir, err := cacheFolder(acct); err == nil {
		t.Errorf("everybody can write %s", dir)
	}
	// And one that the account can't enter is refused before anything is made in it.
	if err := os.Chmod(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvCache, filepath.Join(mine, "deeper"))
	stranger := account{uid: acct.uid + 12345, gid: acct.gid + 12345}
	if dir, err := cacheFolder(stranger); err == nil {
		t.Errorf("uid %d can't reach %s", stranger.uid, dir)
	}
	if _, err := os.Stat(filepath.Join(mine, "deeper")); err == nil {
		t.Error("made a folder that can't be used")
	}
}

// Whatever HOME is, root's 0700 or none at all, there is a cache.
func TestCacheFolderWithoutHome(t *testing.T) {
	t.Setenv(EnvCache, "")
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("HOME", "/nonexistent/home")
	acct := serverAccount()
	dir, err := cacheFolder(acct)
	if err != nil {
		t.Fatal(err)
	}
	if !acct.canReach(dir) {
		t.Errorf("uid %d can't reach %s", acct.uid, dir)
	}
}
