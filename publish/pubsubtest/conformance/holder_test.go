package conformance

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHeldProgramEndsWithUs: what runs under the holder is gone when its input is
// closed, and when the process that holds it is killed.
func TestHeldProgramEndsWithUs(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		cmd := hold("/bin/sh", "-c", "echo $$; exec sleep 600")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		pid := firstNumber(t, cmd)
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		wantGone(t, pid)
	})
	t.Run("killed", func(t *testing.T) {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-child="+holdChild)
		pid := firstNumber(t, cmd)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		wantGone(t, pid)
	})
}

// holdChild is the -child that holds a program until it is killed.
const holdChild = "hold"

func runHold() int {
	cmd := hold("/bin/sh", "-c", "echo $$; exec sleep 600")
	cmd.Stdout = os.Stdout
	if _, err := cmd.StdinPipe(); err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	_ = cmd.Wait()
	return 0
}

// firstNumber starts the command and reads the process id that it says.
func firstNumber(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	r, w, err := os.Pipe() // not cmd's own: what is left behind may hold it open
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func wantGone(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if running(pid) {
			continue
		}
		return
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	t.Errorf("process %d runs on", pid)
}

// running tells whether there is such a process; one that only waits to be
// collected by its parent has ended.
func running(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}
