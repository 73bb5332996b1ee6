package state

import (
	"cdc/schema"
)

// Format is the version of the stored form.
const Format = 1

// State is what is stored for one slot.
type State struct {
	SystemID   string     // IDENTIFY_SYSTEM's system identifier: with Timeline, the lineage
	Timeline   int64      // of the source's WAL
	Database   string     // the Postgres database's own name
	Epoch      uint32     // schema.Position.Epoch of every change that is handed on
	Checkpoint schema.LSN // all changes of transactions that end at or below it are published; 0 while only intended
	Owner      int64      // the token of the instance that may write
	Tables     []Table    // in the order of OID
}

// Complete reports whether s is more than an intention to make the slot.
func (s *State) Complete() bool { return s.Checkpoint != 0 }

// Table is what a table looked like when its changes were last handed on.
type Table struct {
	OID           uint32
	Schema        string
	Name          string
	Filenode      uint32
	Fingerprint   string
	AttNums       []int16
	SchemaVersion int64 // of the messages; grows with every change of the columns
}

// Error is an error of this package that a person reads.
type Error struct{ code, problem, fix string }

func (e *Error) Error() string { return e.problem }

// Code returns the stable name of the error.
func (e *Error) Code() string { return e.code }

// Fix says what to do.
func (e *Error) Fix() string { return e.fix }

// What a store's methods return, wrapped.
var (
	ErrSuperseded = &Error{
		"superseded", "another instance has taken the state over, or it was removed",
		"stop this instance: the other one carries on; if there is no other, the state was deleted: restore it or run cdc-publisher init",
	}
	ErrExists = &Error{
		"state_exists", "a complete state is stored already",
		"keep it, or remove it together with the slot and run cdc-publisher init again",
	}
	ErrLocked = &Error{
		"state_locked", "another process holds the lock of the state's file",
		"end that process (fuser FILE.lock names it): it is stopped, or its disk hangs",
	}
	ErrFormat = &Error{
		"state_format", "the stored state is damaged or of a newer version",
		"run the version of cdc-publisher that wrote it, or restore it; without it, start anew: drop the slot, remove the state, run cdc-publisher init",
	}
)
