package postgrestest

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const ownerEnv = "CDC_POSTGRESTEST_OWNER"

// TestMain lets the test binary be an owner that gets killed: it starts a server, says so, and waits for its end.
func TestMain(m *testing.M) {
	if os.Getenv(ownerEnv) == "" {
		os.Exit(m.Run())
	}
	fmt.Println("begin")
	s, err := Launch(context.Background(), Options{})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println("ready", s.proc.cmd.Process.Pid, s.folder)
	select {}
}

// startOwner runs an owner whose server's folder is below tmp.
func startOwner(t *testing.T, tmp string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), ownerEnv+"=1", "TMPDIR="+tmp)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || lines.Text() != "begin" {
		t.Fatalf("the owner said %q", lines.Text())
	}
	return cmd, lines
}

func ownerTemp(t *testing.T) string {
	t.Helper()
	Start(t) // so that no owner stops for making the template
	keepCache(t)
	tmp, err := serverAccount().tempFolder()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	return tmp
}

// keepCache pins the cache, which lies below TMPDIR for a user without a home, before a test changes TMPDIR.
func keepCache(t *testing.T) {
	t.Helper()
	cache, err := cacheFolder(serverAccount())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(EnvCache, filepath.Dir(cache))
}

func TestGoneWithItsOwner(t *testing.T) {
	tmp := ownerTemp(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		owner, lines := startOwner(t, tmp)
		lines.Scan()
		f := strings.Fields(lines.Text())
		if len(f) != 3 || f[0] != "ready" {
			t.Fatalf("the owner said %q", lines.Text())
		}
		pid, err := strconv.Atoi(f[1])
		if err != nil || syscall.Kill(pid, 0) != nil {
			t.Fatalf("server %s isn't there", f[1])
		}
		began := time.Now()
		owner.Process.Signal(sig)
		owner.Wait()
		waitFor(t, "the server is gone", func() bool { return syscall.Kill(pid, 0) != nil || !alive(pid) })
		waitFor(t, "its folder is gone", func() bool { return isEmpty(tmp) })
		t.Logf("%v: gone in %s", sig, time.Since(began).Round(time.Millisecond))
	}
}

// The owner may die at any moment of the start.
func TestGoneWithItsOwnerWhileStarting(t *testing.T) {
	tmp := ownerTemp(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 12 {
		owner, _ := startOwner(t, tmp)
		time.Sleep(time.Duration(rng.IntN(150)) * time.Millisecond) // the moment is the test's input
		owner.Process.Kill()
		owner.Wait()
	}
	waitFor(t, "all servers are gone", func() bool { return len(serversBelow(tmp)) == 0 })
	waitFor(t, "all data is gone", func() bool { return isEmpty(tmp) })
	if left := serversBelow(tmp); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// serversBelow lists the processes whose command line names the folder (Linux; elsewhere none).
func serversBelow(tmp string) []string {
	var found []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), tmp+"/") {
			found = append(found, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return found
}

// isEmpty ignores empty folders: an owner killed between making its folder and starting the janitor leaves one.
func isEmpty(dir string) bool {
	left, _ := filepath.Glob(filepath.Join(dir, "*/*"))
	return len(left) == 0
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within 20 s: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
