package schema

import (
	"fmt"
	"math/bits"
)

// line is one change as it stands in the data: spans for the rows, which wait
// for the types that come after them, and the values of the rest.
type line struct {
	seen fields

	op                           Op
	before, after, key, previous object
	unchanged                    object
	readMS                       int64

	sourceNames [4]token // name, db, schema, table
	tsMS        int64
	txID, lsn   uint64
	incremental bool

	types, attnums token
	position       Position
	version        int64
	xid            uint64
	commitTime     Micros
	snapshot       *Snapshot
	rowGone        bool
}

// object is a span of the decoder's members.
type object struct {
	from, to int32
	present  bool // not absent, not null
}

// member is one name and value of a row or key; of an array, the value alone.
type member struct {
	name, value token
}

// fields is a set of the fields of a line.
type fields uint64

const (
	fBefore fields = 1 << iota
	fAfter
	fSource
	fOp
	fTsMS
	fCDC

	fVersion
	fConnector
	fName
	fSourceTsMS
	fSourceSnapshot
	fDB
	fSchema
	fTable
	fTxID
	fLSN

	fPosition
	fKey
	fPreviousKey
	fTypes
	fAttnums
	fSchemaVersion
	fUnchanged
	fXID
	fCommitTime
	fSnapshot
	fRowGone

	fAlways = fBefore | fAfter | fSource | fOp | fTsMS | fCDC | fSourceTsMS | fSourceSnapshot | fLSN | fPosition | fCommitTime
	fConst  = fVersion | fConnector | fName | fDB | fSchema | fTable | fSchemaVersion
	fShape  = fTypes | fAttnums
)

var fieldNames = [...]string{
	"before", "after", "source", "op", "ts_ms", "cdc",
	"source.version", "source.connector", "source.name", "source.ts_ms", "source.snapshot",
	"source.db", "source.schema", "source.table", "source.txId", "source.lsn",
	"cdc.position", "cdc.key", "cdc.previous_key", "cdc.types", "cdc.attnums", "cdc.schema_version",
	"cdc.unchanged", "cdc.xid", "cdc.commit_time", "cdc.snapshot", "cdc.row_gone",
}

// String returns the name of the lowest field in f.
func (f fields) String() string { return fieldNames[bits.TrailingZeros64(uint64(f))] }

// set adds f, which must not be there yet.
func (l *line) set(f fields) error {
	if l.seen&f != 0 {
		return ErrDuplicate
	}
	l.seen |= f
	return nil
}

// parseLine parses one line and checks which fields it has.
func (d *Decoder) parseLine() error {
	if err := d.parseTop(); err != nil {
		return err
	}
	if err := d.scan.end(); err != nil {
		return err
	}
	seen := d.line.seen
	want := fAlways
	if d.count == 0 {
		want |= fConst | fShape
	} else if seen&fConst != 0 {
		return fmt.Errorf("later line of a batch repeats what holds for the message: %w", ErrField)
	}
	if seen&want != want {
		return fmt.Errorf("a field is missing: %w", ErrField)
	}
	if shape := seen & fShape; shape != 0 && shape != fShape {
		return fmt.Errorf("types without attnums or the other way round: %w", ErrField)
	}
	return nil
}

func (d *Decoder) parseTop() error {
	s := &d.scan
	if err := s.open('{'); err != nil {
		return err
	}
	for n := 0; ; n++ {
		name, ok, err := s.member(n)
		if err != nil || !ok {
			return err
		}
		switch string(s.text(name)) {
		case "before":
			err = d.object(fBefore, &d.line.before, 2)
		case "after":
			err = d.object(fAfter, &d.line.after, 2)
		case "source":
			err = d.parseSource()
		case "op":
			err = d.parseOp()
		case "ts_ms":
			err = d.integer(fTsMS, &d.line.readMS)
		case "cdc":
			err = d.parseCDC()
		default:
			err = ErrUnknown
		}
		if err != nil {
			return err
		}
	}
}

func (d *Decoder) parseOp() error {
	b, err := d.string(fOp)
	if err != nil {
		return err
	}
	if len(b) != 1 {
		return fmt.Errorf("op isn't one letter: %w", ErrField)
	}
	d.line.op = Op(b[0])
	return nil
}

func (d *Decoder) parseSource() error {
	s, l := &d.scan, &d.line
	if err := l.set(fSource); err != nil {
		return err
	}
	if err := s.open('{'); err != nil {
		return err
	}
	for n := 0; ; n++ {
		name, ok, err := s.member(n)
		if err != nil || !ok {
			return err
		}
		switch string(s.text(name)) {
		case "version":
			err = d.constant(fVersion, sourceVersion)
		case "connector":
			err = d.constant(fConnector, connector)
		case "name":
			err = d.token(fName, jsonString, &l.sourceNames[0])
		case "ts_ms":
			err = d.integer(fSourceTsMS, &l.tsMS)
		case "snapshot":
			err = d.sourceSnapshot()
		case "db":
			err = d.token(fDB, jsonString, &l.sourceNames[1])
		case "schema":
			err = d.token(fSchema, jsonString, &l.sourceNames[2])
		case "table":
			err = d.token(fTable, jsonString, &l.sourceNames[3])
		case "txId":
			err = d.unsigned(fTxID, &l.txID)
		case "lsn":
			err = d.unsigned(fLSN, &l.lsn)
		default:
			err = ErrUnknown
		}
		if err != nil {
			return err
		}
	}
}

func (d *Decoder) parseCDC() error {
	s, l := &d.scan, &d.line
	if err := l.set(fCDC); err != nil {
		return err
	}
	if err := s.open('{'); err != nil {
		return err
	}
	for n := 0; ; n++ {
		name, ok, err := s.member(n)
		if err != nil || !ok {
			return err
		}
		switch string(s.text(name)) {
		case "position":
			err = d.position(fPosition, &l.position)
		case "key":
			err = d.object(fKey, &l.key, 3)
		case "previous_key":
			err = d.object(fPreviousKey, &l.previous, 3)
		case "types":
			err = d.array(fTypes, &l.types)
		case "attnums":
			err = d.array(fAttnums, &l.attnums)
		case "schema_version":
			err = d.integer(fSchemaVersion, &l.version)
		case "unchanged":
			err = d.names(fUnchanged, &l.unchanged)
		case "xid":
			if err = d.unsigned(fXID, &l.xid); err == nil && l.xid == 0 {
				err = ErrField
			}
		case "commit_time":
			err = d.time(fCommitTime, &l.commitTime)
		case "snapshot":
			err = d.parseSnapshot()
		case "row_gone":
			l.rowGone = true
			err = d.literalTrue(fRowGone)
		default:
			err = ErrUnknown
		}
		if err != nil {
			return err
		}
	}
}
