package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// service is one of the two services as a process of its own.
type service struct {
	name string
	path string
	args []string
	env  []string
	log  *os.File

	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how it ended; read after done
}

// start starts the process. Its log is appended to the service's log file.
func (s *service) start() error {
	cmd := exec.Command(s.path, s.args...)
	cmd.Env = append(os.Environ(), s.env...)
	cmd.Stdout, cmd.Stderr = s.log, s.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a terminal's ^C is ours to pass on
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	done := make(chan struct{})
	s.cmd, s.done = cmd, done
	go func() {
		s.err = cmd.Wait()
		close(done)
	}()
	return nil
}

// kill ends the process with SIGKILL, as a crash would.
func (s *service) kill() error {
	if err := s.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("kill %s: %w", s.name, err)
	}
	<-s.done
	return nil
}

// stop asks the process to end and kills it if it doesn't within limit.
func (s *service) stop(limit time.Duration) error {
	if s.cmd == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended: Wait tells
	select {
	case <-s.done:
		if s.err != nil {
			return fmt.Errorf("stop %s: %w", s.name, s.err)
		}
		return nil
	case <-time.After(limit):
		_ = s.kill()
		return fmt.Errorf("stop %s: still running %v after SIGTERM", s.name, limit)
	}
}

// running reports whether the process was started and hasn't ended.
func (s *service) running() bool {
	if s.cmd == nil {
		return false
	}
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// check returns an error if the process has ended without being asked to.
func (s *service) check() error {
	if s.running() {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%w); its log: %s", s.name, cmp.Or(s.err, errors.New("exit status 0")), s.log.Name())
}

// runOnce runs a command of a service to its end, such as init.
func runOnce(ctx context.Context, s *service, args ...string) error {
	cmd := exec.CommandContext(ctx, s.path, args...)
	cmd.Env = append(os.Environ(), s.env...)
	out, err := cmd.CombinedOutput()
	_, _ = s.log.Write(out) // the log file is for people; a full disk shows elsewhere
	if err != nil {
		return fmt.Errorf("%s %s: %w: %s", s.name, args[0], err, lastLine(out))
	}
	return nil
}

func lastLine(out []byte) []byte {
	end := len(out)
	for end > 0 && out[end-1] == '\n' {
		end--
	}
	start := end
	for start > 0 && out[start-1] != '\n' {
		start--
	}
	return out[start:end]
}
