package postgrestest

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strconv"
)

// janitorScript ends the server and removes its folder when the owner is gone. $1 is the server's folder.
//
// It reads what the owner tells it, one word a line: "starting" (a server may be there soon), its process id, 0 (it
// has been reaped), done (nothing to clean). The end of the input means that the owner is dead: the pipe's other end is closed by the
// kernel, whatever the owner died of. Works where Linux's PR_SET_PDEATHSIG doesn't (macOS, and it is tied to a thread).
const janitorScript = `
trap '' INT TERM HUP
word=0
while read -r line; do word=$line; done
[ "$word" = done ] && exit 0
i=0
while [ "$i" -lt 100 ]; do
	pid=$word
	if [ "$word" = starting ]; then
		pid=0
		{ read -r pid <"$1/data/postmaster.pid"; } 2>/dev/null
	fi
	case $pid in '' | *[!0-9]*) pid=0 ;; esac
	if [ "$pid" -gt 1 ] && kill -0 "$pid" 2>/dev/null; then
		word=$pid
		if [ "$i" -lt 50 ]; then kill -QUIT "$pid"; else kill -KILL "$pid"; fi
	elif [ "$word" != starting ] || [ "$i" -ge 20 ]; then
		break
	fi
	i=$((i + 1))
	sleep 0.1
done
while ! rm -rf "$1" 2>/dev/null && [ "$i" -lt 200 ]; do
	i=$((i + 1))
	sleep 0.1
done
`

// A janitor outlives its owner just long enough to clean up after it.
type janitor struct {
	cmd  *exec.Cmd
	tell io.WriteCloser
}

func startJanitor(acct account, folder string) (*janitor, error) {
	// Not bound to any context: it must outlive everything here.
	cmd := acct.command(context.Background(), "/", nil, "/bin/sh", "-c", janitorScript, "cdc-postgres-janitor", folder)
	tell, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the janitor: %w", err)
	}
	return &janitor{cmd: cmd, tell: tell}, nil
}

// starting must be said before the server is started, pid after it, reaped once it is gone.
func (j *janitor) starting() error   { return j.say("starting") }
func (j *janitor) pid(pid int) error { return j.say(strconv.Itoa(pid)) }
func (j *janitor) reaped() error     { return j.say("0") }

// dismiss ends the janitor without any cleaning and waits for it.
func (j *janitor) dismiss() error {
	err := j.say("done")
	j.tell.Close()
	if werr := j.cmd.Wait(); werr != nil && err == nil {
		err = fmt.Errorf("wait for the janitor: %w", werr)
	}
	return err
}

func (j *janitor) say(word string) error {
	if _, err := io.WriteString(j.tell, word+"\n"); err != nil {
		return fmt.Errorf("tell the janitor %q: %w", word, err)
	}
	return nil
}
