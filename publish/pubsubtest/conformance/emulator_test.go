package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// emulatorJars is where the Cloud SDK's packages put Google's emulator.
var emulatorJars = []string{
	"/usr/lib/google-cloud-sdk", "/usr/share/google-cloud-sdk", "/opt/google-cloud-sdk", "/opt/google-cloud-cli",
	"/snap/google-cloud-cli/current", "$CLOUDSDK_ROOT_DIR", "$HOME/google-cloud-sdk",
}

// findEmulator returns the jar of the flag, or the first that there is.
func findEmulator() (string, error) {
	if jar := emulatorFlag.value; jar != "" {
		if _, err := os.Stat(jar); err != nil {
			return "", fmt.Errorf("find Google's Pub/Sub emulator: %w; give -emulator the path of cloud-pubsub-emulator-*-all.jar", err)
		}
		return jar, nil
	}
	for _, root := range emulatorJars {
		if root = os.ExpandEnv(root); !filepath.IsAbs(root) {
			continue // its variable isn't set
		}
		if jars, _ := filepath.Glob(filepath.Join(root, "platform/pubsub-emulator/lib/cloud-pubsub-emulator-*.jar")); len(jars) > 0 {
			return jars[len(jars)-1], nil
		}
	}
	return "", errors.New("find Google's Pub/Sub emulator: no cloud-pubsub-emulator-*.jar below " + strings.Join(emulatorJars, ", ") +
		"; install it (apt-get install google-cloud-cli-pubsub-emulator, or gcloud components install pubsub-emulator) or give its path: -emulator=JAR")
}

// holder runs its arguments until its input ends, then kills them: so they end
// with this process, however that ends.
const holder = `"$@" </dev/null & pid=$!; cat >/dev/null; kill -9 $pid; wait $pid 2>/dev/null`

// hold is the command that runs a program under the holder.
func hold(program ...string) *exec.Cmd {
	return exec.Command("/bin/sh", append([]string{"-c", holder, "holder"}, program...)...)
}

// emulator is a running process of Google's emulator.
type emulator struct {
	addr string
	hold io.Closer // the holder's input
	cmd  *exec.Cmd
	log  *lockedBuffer
}

// startEmulator starts the jar on a free loopback port. The emulator doesn't say
// which port it got for 0, so one is chosen here; if that is taken meanwhile, the
// next is tried.
func startEmulator(jar string, limit time.Duration) (*emulator, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return nil, fmt.Errorf("start Google's Pub/Sub emulator: %w; install a Java runtime (apt-get install default-jre-headless)", err)
	}
	var errs []error
	for range 3 {
		e, err := tryEmulator(jar, limit)
		if err == nil {
			return e, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("start Google's Pub/Sub emulator: %w", errors.Join(errs...))
}

func tryEmulator(jar string, limit time.Duration) (*emulator, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		return nil, fmt.Errorf("find a free port: %w", err)
	}
	e := &emulator{addr: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), log: &lockedBuffer{}}
	e.cmd = hold("java", "-jar", jar, "--host=127.0.0.1", "--port="+strconv.Itoa(port))
	e.cmd.Stdout, e.cmd.Stderr = e.log, e.log
	e.cmd.WaitDelay = 5 * time.Second
	if e.hold, err = e.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("hold the emulator: %w", err)
	}
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("run java: %w", err)
	}
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(e.log.String(), "Server started") {
			return e, nil
		}
		if strings.Contains(e.log.String(), "Exception") {
			break
		}
	}
	e.stop()
	return nil, fmt.Errorf("it didn't start within %v and said:\n%s", limit, e.log.String())
}

// stop kills the emulator and waits until it is gone.
func (e *emulator) stop() {
	_ = e.hold.Close()
	_ = e.cmd.Wait()
}

func emulatorTarget() target {
	return target{name: "emulator", tries: tries, begin: func(t *testing.T) startServer {
		t.Helper()
		jar, err := findEmulator()
		if err != nil {
			t.Fatal(err)
		}
		e, err := startEmulator(jar, 60*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(e.stop)
		srv := &server{
			options: loopback(e.addr), pass: time.Sleep,
			patience: 5 * time.Second, settle: time.Second,
		}
		return func() (*server, func()) { return srv, func() {} }
	}}
}

// lockedBuffer is what a process said so far.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
