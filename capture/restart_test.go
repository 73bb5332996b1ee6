package capture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"cdc/capture/postgrestest"
	"cdc/schema"
)

// envChild has the configuration of a child process that captures.
const envChild = "CDC_CAPTURE_TEST_CHILD"

type childConfig struct{ DSN, Slot, Publication, State, File string }

// line is how the child hands a message to its parent.
type line struct {
	Key   string
	Attrs schema.Attributes
	Data  []byte
}

// pipe is a Publisher that stores by writing to stdout and accepts some time
// after: a message may be stored and not accepted, as when an answer is lost.
type pipe struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (p *pipe) Publish(_ context.Context, m *schema.Message, tag uint64, accepted func(uint64)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.out.Encode(line{string(m.OrderingKey), m.Attributes, m.Data}); err != nil {
		return err
	}
	time.AfterFunc(time.Duration(rand.Int64N(int64(30*time.Millisecond))), func() { accepted(tag) })
	return nil
}

func childMain() int {
	var c childConfig
	if err := json.Unmarshal([]byte(os.Getenv(envChild)), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	d := database{name: c.Slot}
	cfg := d.config()
	cfg.DSN = func() (string, error) { return c.DSN, nil }
	cfg.Slot, cfg.Publication, cfg.StateSchema, cfg.StateFile = c.Slot, c.Publication, c.State, c.File
	cfg.Log, cfg.ProgressEvery = slog.New(slog.NewTextHandler(os.Stderr, nil)), time.Second
	run, err := New(cfg, &pipe{out: json.NewEncoder(os.Stdout)})
	if err == nil {
		err = run.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// child starts a capturing process that stores into r, and returns how to kill it.
func (d *database) child(cfg Config, r *recorder) (kill func()) {
	d.tb.Helper()
	env, err := json.Marshal(childConfig{d.dsn(), cfg.Slot, cfg.Publication, cfg.StateSchema, cfg.StateFile})
	if err != nil {
		d.tb.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envChild+"="+string(env))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		d.tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.tb.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var l line
			if json.Unmarshal(lines.Bytes(), &l) != nil {
				return // cut off by the kill: not stored
			}
			r.mu.Lock()
			r.messages = append(r.messages, recorded{key: l.Key, attrs: l.Attrs, data: l.Data})
			r.mu.Unlock()
		}
	}()
	return sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
		if d.tb.Failed() {
			d.tb.Logf("child: %s", stderr.String())
		}
	})
}

// A process that is killed at any moment loses nothing, and repeats what it
// repeats with the same Positions.
func TestKilledProcessLosesNothing(t *testing.T) {
	for _, where := range []string{"schema", "file"} {
		t.Run("state in "+where, func(t *testing.T) {
			t.Parallel()
			d := newDatabase(t, `CREATE TABLE t (id int PRIMARY KEY, v int)`)
			cfg := d.config()
			if where == "file" {
				cfg.StateSchema, cfg.StateFile = "", t.TempDir()+"/state.json"
			}
			mustInit(t, cfg)
			r := newRecorder(t, 0)
			writing, stop := context.WithCancel(t.Context())
			var writer sync.WaitGroup
			writer.Go(func() {
				conn := d.server.Conn(t, d.name)
				for i := 0; writing.Err() == nil; i++ {
					sql := fmt.Sprintf(`BEGIN; INSERT INTO t SELECT g, 0 FROM generate_series(%d, %d) g;
						UPDATE t SET v = v + 1 WHERE id %% 17 = %d; DELETE FROM t WHERE id %% 41 = %d; COMMIT`, i*10, i*10+9, i%17, i%41)
					if _, err := conn.Exec(context.Background(), sql); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Millisecond) // the rest of the machine has to keep up
				}
			})
			for range 4 {
				before := r.len()
				kill := d.child(cfg, r)
				eventually(t, "messages", func() bool { return r.len() > before+200 })
				time.Sleep(time.Duration(r.rng.Int64N(int64(100 * time.Millisecond))))
				kill()
			}
			stop()
			writer.Wait()
			kill := d.child(cfg, r)
			defer kill()
			d.exec(`INSERT INTO t VALUES (-1, 0)`)
			eventually(t, "last row", func() bool { return r.lastKey() == "public.t|-1" })
			kill()
			d.mustAgree(r.snapshot(), "public.t")
			r.checkOrder()
		})
	}
}

// The server dies and comes back: the slot's confirmed LSN may have moved back,
// the next start repeats and loses nothing.
func TestServerCrash(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	d := newDatabaseOn(t, own, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	mustInit(t, cfg)
	r := newRecorder(t, time.Millisecond)
	run := start(t, cfg, r)
	for i := range 3 {
		d.exec(fmt.Sprintf(`INSERT INTO t SELECT g FROM generate_series(%d, %d) g`, 1000*i, 1000*i+99))
		eventually(t, "rows", func() bool { return len(r.rows()["public.t"]) == 100*(i+1) })
		own.Kill()
		if got := codeOf(t, run.wait()); got != "connection_lost" {
			t.Fatalf("got %q", got)
		}
		if err := own.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		run = start(t, cfg, r)
	}
	d.exec(`INSERT INTO t VALUES (-1)`)
	eventually(t, "last row", func() bool { return len(r.rows()["public.t"]) == 301 })
	run.stop()
	r.checkOrder()
	d.mustAgree(r.snapshot(), "public.t")
}

// A fast shutdown doesn't wait for what isn't published: the replication
// connection is closed at once.
func TestServerShutdownIsntHeldUp(t *testing.T) {
	t.Parallel()
	own := postgrestest.Start(t)
	d := newDatabaseOn(t, own, `CREATE TABLE t (id int PRIMARY KEY)`)
	cfg := d.config()
	log := &events{}
	cfg.Log, cfg.pace.pollEvery = slog.New(log), time.Hour
	mustInit(t, cfg)
	r := newRecorder(t, 0)
	r.hold = true
	run := start(t, cfg, r)
	d.exec(`INSERT INTO t VALUES (1)`)
	eventually(t, "row", func() bool { return r.len() == 1 })
	began := time.Now()
	if err := own.Stop(postgrestest.Fast); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the shutdown took %v", took)
	}
	if got := codeOf(t, run.wait()); got != "connection_lost" {
		t.Errorf("got %q", got)
	}
	if n := log.count(EventServerShutdown); n != 1 {
		t.Errorf("the shutdown is said %d times", n)
	}
	r.release()
}
