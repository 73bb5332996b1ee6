package state

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"cdc/schema"
)

// File keeps the state of one slot in a file, as JSON. It isn't safe for
// concurrent use by goroutines; processes are kept apart by a lock on PATH.lock.
// Every write goes to a new file that is synced and then renamed over the old
// one, so that a crash leaves one of the two whole.
type File struct {
	path  string
	slot  string
	token int64
}

// NewFile returns a store for a slot in the file at path.
func NewFile(path, slot string) *File { return &File{path: path, slot: slot} }

// stored is the file's form. LSNs are text as Postgres writes them.
type stored struct {
	Format     int           `json:"format"`
	Slot       string        `json:"slot"`
	SystemID   string        `json:"system_id"`
	Timeline   int64         `json:"timeline"`
	Database   string        `json:"database"`
	Epoch      uint32        `json:"epoch"`
	Checkpoint string        `json:"checkpoint"`
	Owner      int64         `json:"owner"`
	Tables     []storedTable `json:"tables"`
}

type storedTable struct {
	OID           uint32  `json:"oid"`
	Schema        string  `json:"schema"`
	Name          string  `json:"name"`
	Filenode      uint32  `json:"filenode"`
	Fingerprint   string  `json:"fingerprint"`
	AttNums       []int16 `json:"attnums"`
	SchemaVersion int64   `json:"schema_version"`
}

// Prepare makes the file's folder if it is missing and returns what it made.
func (f *File) Prepare(context.Context) ([]string, error) {
	dir := filepath.Dir(f.path)
	if _, err := os.Stat(dir); err == nil {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("prepare the state's folder: %w", err)
	}
	return []string{"folder " + dir}, nil
}

// Load returns the stored state, nil if there is none.
func (f *File) Load(context.Context) (*State, error) {
	s, err := f.read()
	if err != nil {
		return nil, fmt.Errorf("load the state: %w", err)
	}
	return s, nil
}

// Put stores s whole with owner token 0 and gives up the ownership. It returns
// ErrExists if a complete state is stored.
func (f *File) Put(ctx context.Context, s *State) error {
	return f.locked(ctx, "store the state", func(old *State) (*State, error) {
		if old != nil && old.Complete() {
			return nil, ErrExists
		}
		next := *s
		next.Owner = 0
		return &next, nil
	})
}

// Acquire takes the ownership and returns the state, nil if there is none.
func (f *File) Acquire(ctx context.Context) (*State, error) {
	var s *State
	err := f.locked(ctx, "take the state over", func(old *State) (*State, error) {
		if old != nil {
			old.Owner++
		}
		s = old
		return old, nil
	})
	if err != nil || s == nil {
		return nil, err
	}
	f.token = s.Owner
	return s, nil
}

// Checkpoint raises the checkpoint to lsn; a lower one leaves it as it is. It
// returns ErrSuperseded if this store isn't the owner.
func (f *File) Checkpoint(ctx context.Context, lsn schema.LSN) error {
	return f.owned(ctx, "store the checkpoint", func(s *State) { s.Checkpoint = max(s.Checkpoint, lsn) })
}

// SaveTable stores what a table looks like now. It returns ErrSuperseded if this
// store isn't the owner.
func (f *File) SaveTable(ctx context.Context, t Table) error {
	return f.owned(ctx, "store a table's state", func(s *State) {
		for i := range s.Tables {
			if s.Tables[i].OID == t.OID {
				s.Tables[i] = t
				return
			}
			if s.Tables[i].OID > t.OID {
				s.Tables = append(s.Tables[:i], append([]Table{t}, s.Tables[i:]...)...)
				return
			}
		}
		s.Tables = append(s.Tables, t)
	})
}

// Close does nothing: no file stays open.
func (f *File) Close(context.Context) error { return nil }

func (f *File) owned(ctx context.Context, what string, change func(*State)) error {
	return f.locked(ctx, what, func(s *State) (*State, error) {
		if s == nil || f.token == 0 || s.Owner != f.token {
			return nil, ErrSuperseded
		}
		change(s)
		return s, nil
	})
}

// locked replaces the state by what change returns (nil: leave it) while no
// other process does.
func (f *File) locked(ctx context.Context, what string, change func(*State) (*State, error)) error {
	lock, err := os.OpenFile(f.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer lock.Close() // releases the lock
	if err := waitLock(ctx, lock); err != nil {
		return fmt.Errorf("%s: lock %s: %w", what, lock.Name(), err)
	}
	old, err := f.read()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	next, err := change(old)
	if err == nil && next != nil {
		err = f.write(next)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// lockLimit bounds the wait for another process, which holds the lock for moments
// unless it is stopped or its disk hangs; lockPoll is how often it is tried.
const (
	lockLimit = 5 * time.Second
	lockPoll  = 10 * time.Millisecond
)

// waitLock takes the lock. It doesn't block in the call, which nothing could end.
func waitLock(ctx context.Context, file *os.File) error {
	ctx, cancel := context.WithTimeoutCause(ctx, lockLimit, ErrLocked)
	defer cancel()
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *File) read() (*State, error) {
	data, err := os.ReadFile(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var in stored
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.path, ErrFormat, err)
	}
	if in.Format != Format || in.Slot != f.slot {
		return nil, fmt.Errorf("%s: format %d, slot %q: %w", f.path, in.Format, in.Slot, ErrFormat)
	}
	s := &State{SystemID: in.SystemID, Timeline: in.Timeline, Database: in.Database, Epoch: in.Epoch, Owner: in.Owner}
	if s.Checkpoint, err = schema.ParseLSN(in.Checkpoint); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", f.path, ErrFormat, err)
	}
	for _, t := range in.Tables {
		s.Tables = append(s.Tables, Table(t))
	}
	return s, nil
}

func (f *File) write(s *State) (err error) {
	out := stored{
		Format: Format, Slot: f.slot, SystemID: s.SystemID, Timeline: s.Timeline, Database: s.Database,
		Epoch: s.Epoch, Checkpoint: s.Checkpoint.String(), Owner: s.Owner, Tables: []storedTable{},
	}
	for _, t := range s.Tables {
		out.Tables = append(out.Tables, storedTable(t))
	}
	data, err := json.MarshalIndent(out, "", "\t")
	if err != nil {
		return err
	}
	dir := filepath.Dir(f.path)
	tmp, err := os.CreateTemp(dir, filepath.Base(f.path)+".new-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(append(data, '\n')); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	if err = os.Rename(tmp.Name(), f.path); err != nil {
		return err
	}
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer folder.Close()
	return folder.Sync()
}
