package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const logName = "server.log"

// A process is one run of the postmaster.
type process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when it has been reaped
	err    error         // how it ended; read after exited
}

// startProcess starts the postmaster. It belongs to a goroutine that reaps it, and ends with the process.
func startProcess(acct account, in Install, folder string, port int, j *janitor) (*process, error) {
	log, err := os.OpenFile(filepath.Join(folder, logName), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the server's log: %w", err)
	}
	defer log.Close() // the server has its own copy
	data := filepath.Join(folder, "data")
	// Not bound to a context: a cancelled test must still be able to stop it in order.
	cmd := acct.command(context.Background(), data, in.libs, in.program("postgres"), "-D", data, "-p", strconv.Itoa(port))
	cmd.Stdout, cmd.Stderr = log, log
	if err := j.starting(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the server: %w", err), j.reaped())
	}
	// Said before anybody can reap it: the janitor's last word must not be the pid of a process that is gone.
	if err := j.pid(cmd.Process.Pid); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	p := &process{cmd: cmd, exited: make(chan struct{})}
	go func() {
		defer close(p.exited)
		p.err = errors.Join(cmd.Wait(), j.reaped())
	}()
	return p, nil
}

func (p *process) gone() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// signal does nothing when the process is gone: os.Process knows that it has been reaped.
func (p *process) signal(sig syscall.Signal) { _ = p.cmd.Process.Signal(sig) }

// waitReady waits until the postmaster's own status line says ready. Its pid is in the same file, so it can't be
// another server that answers on the port. Format: miscinit.h, LOCK_FILE_LINE_PM_STATUS is line 8.
func (p *process) waitReady(ctx context.Context, data string) error {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	pid := strconv.Itoa(p.cmd.Process.Pid)
	for {
		select {
		case <-p.exited:
			if p.err != nil {
				return fmt.Errorf("it ended before it was ready: %w", p.err)
			}
			return errors.New("it ended before it was ready")
		case <-ctx.Done():
			return fmt.Errorf("wait until it is ready: %w", context.Cause(ctx))
		case <-ticker.C:
		}
		lines := lockFile(data)
		if len(lines) >= 8 && lines[0] == pid && lines[7] == "ready" {
			return nil
		}
	}
}

// lockFile returns the lines of postmaster.pid, trimmed; none when there is no such file.
func lockFile(data string) []string {
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	if err != nil {
		return nil
	}
	lines := strings.Split(string(text), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return lines
}

// killAll kills the postmaster and its children. Each child is in a session of its own, so there is no group to kill; where
// there is no /proc they end by themselves when they notice that the postmaster is gone.
func (p *process) killAll() {
	p.signal(syscall.SIGSTOP) // no new children while we look
	children := childrenOf(p.cmd.Process.Pid)
	p.signal(syscall.SIGKILL)
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may be gone already
	}
	<-p.exited
	deadline := time.Now().Add(crashWaitLimit)
	for slices.ContainsFunc(children, alive) && time.Now().Before(deadline) {
		time.Sleep(pollInterval)
	}
}

// childrenOf reads Linux's /proc; elsewhere it finds none.
func childrenOf(parent int) []int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // its only error is a malformed pattern
	var pids []int
	for _, path := range stats {
		if _, ppid, ok := readStat(path); ok && ppid == parent {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// alive says whether the process still runs; a zombie, which nobody has reaped, doesn't.
func alive(pid int) bool {
	state, _, ok := readStat(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return ok && state != "Z"
}

// readStat takes state and parent out of "pid (any ) name) S ppid …" (proc_pid_stat(5)).
func readStat(path string) (state string, ppid int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", 0, false
	}
	line := string(text)
	fields := strings.Fields(line[strings.LastIndexByte(line, ')')+1:])
	if len(fields) < 2 {
		return "", 0, false
	}
	ppid, err = strconv.Atoi(fields[1])
	return fields[0], ppid, err == nil
}

// removeSharedMemory frees the small System V segment that a killed server leaves behind, and that only a reboot would free
// otherwise (a machine has room for 4,096 of them). Its id is in line 7 of postmaster.pid.
func removeSharedMemory(acct account, data string) {
	lines := lockFile(data)
	if len(lines) < 7 {
		return
	}
	if ids := strings.Fields(lines[6]); len(ids) == 2 {
		// Without ipcrm the segment stays: not worth failing a test.
		_ = acct.command(context.Background(), "/", nil, "ipcrm", "-m", ids[1]).Run()
	}
}
