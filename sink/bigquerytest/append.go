package bigquerytest

import (
	"math/rand/v2"
	"strings"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
)

const rowErrorsText = "Errors found while processing rows. Please refer to the row_errors field for details. The list may not be complete because of the size limitations."

// maxRowErrors bounds the list of one answer.
const maxRowErrors = 1000

// rowBatch is a request's rows after they were checked, before they are stored.
type rowBatch struct {
	rows []parsedRow
	keys []byte // the keys of all rows, back to back
}

// storeRows checks every row and stores them all, or none.
func (c *connection) storeRows(rows [][]byte, m *merged) *appendError {
	batch, errs := c.check(rows)
	if len(errs) > 0 {
		return rowErrors(errs)
	}
	s, w := c.server, c.writer
	if c.hasMode && c.inserts && len(w.schema.keys) > 0 {
		return &appendError{code: codes.Unimplemented, rule: ruleUnhandled, text: "bigquerytest: rows without a change type in a table with a primary key aren't built"}
	}
	t := w.table
	now := s.clock.now()
	seed := s.requests.Add(1)
	rng := rand.New(rand.NewPCG(s.config.Seed, seed))

	t.mu.Lock()
	if t.gone {
		t.mu.Unlock()
		e := noTable(t.id(), "")
		e.ends = true
		return e
	}
	t.catchUp(now)
	t.request = seed
	t.streamed = now
	for i := range batch.rows {
		r := &batch.rows[i]
		t.active = t.active || r.change != changeInsert
		t.store(w.plan, r, rows[i], now, rng, m)
	}
	t.mu.Unlock()

	s.applied.record(s.config.Record, t, batch.rows, time.Now())
	bytes := int64(0)
	for _, row := range rows {
		bytes += int64(len(row))
	}
	s.count.add(func(n *Counters) {
		n.Rows += int64(len(rows))
		n.Bytes += bytes
		n.Upserts += m.upserts
		n.Deletes += m.deletes
		n.Inserts += m.inserts
		n.Superseded += m.superseded
	})
	return nil
}

// check reads the rows without storing anything.
func (c *connection) check(rows [][]byte) (rowBatch, []*storagepb.RowError) {
	w := c.writer
	batch := rowBatch{rows: make([]parsedRow, len(rows))}
	var errs []*storagepb.RowError
	for i, row := range rows {
		r, p := w.reader.read(row)
		if p == nil {
			p = c.mixed(r)
		}
		if p != nil {
			c.server.count.refuse(p.rule)
			errs = append(errs, rowError(i, p.text))
			continue
		}
		at := len(batch.keys)
		batch.keys = append(batch.keys, r.key...)
		batch.rows[i] = *r
		batch.rows[i].key = batch.keys[at:len(batch.keys):len(batch.keys)]
	}
	return batch, errs
}

// mixed refuses a row that isn't of the connection's kind. The first row
// decides whether a connection inserts or changes, whatever tables it is for.
//
// https://docs.cloud.google.com/bigquery/docs/change-data-capture#limitations
func (c *connection) mixed(r *parsedRow) *rowProblem {
	inserts := r.change == changeInsert
	if !c.hasMode {
		c.hasMode, c.inserts = true, inserts
	}
	switch {
	case c.inserts == inserts:
		return nil
	case c.inserts:
		return &rowProblem{ruleMixedChanges, "The given value is not a valid CHANGE_TYPE in insert mode: " + r.change.String()}
	}
	return &rowProblem{ruleMixedChanges, "The given value is not a valid CHANGE_TYPE in upsert mode: INSERT"}
}

func (c change) String() string {
	return [...]string{"INSERT", "UPSERT", "DELETE"}[c]
}

func rowError(i int, text string) *storagepb.RowError {
	return &storagepb.RowError{Index: int64(i), Code: storagepb.RowError_FIELDS_ERROR, Message: text}
}

func rowErrors(errs []*storagepb.RowError) *appendError {
	return &appendError{code: codes.InvalidArgument, rule: ruleRowErrors, text: rowErrorsText, rows: errs[:min(len(errs), maxRowErrors)]}
}

// hasKey says whether a fault that is about a key meets this request.
func (c *connection) hasKey(f *Fault, req *storagepb.AppendRowsRequest) bool {
	if f.Key == "" || (f.Kind != FaultRefuseRow && f.Kind != FaultRefuseRequest) {
		return true
	}
	for _, row := range req.GetProtoRows().GetRows().GetSerializedRows() {
		if c.writer.plan.keyText(row) == f.Key {
			return true
		}
	}
	return false
}

// refuseRows is the answer of FaultRefuseRow and FaultRefuseAll.
func (c *connection) refuseRows(f *Fault, req *storagepb.AppendRowsRequest) *appendError {
	var errs []*storagepb.RowError
	for i, row := range req.GetProtoRows().GetRows().GetSerializedRows() {
		if f.Kind == FaultRefuseAll || c.writer.plan.keyText(row) == f.Key {
			errs = append(errs, rowError(i, "The row was refused."))
		}
	}
	return rowErrors(errs)
}

// keyText is a row's key as Fault.Key has it. It is asked of rows that weren't
// checked, so it looks at nothing but the key columns.
func (p *rowPlan) keyText(row []byte) string {
	var parts [maxKeyColumns]string
	_ = eachField(row, func(number protowire.Number, typ protowire.Type, v wireValue) error {
		if f := p.field(number); f != nil && f.keyAt >= 0 && typ == f.wire {
			parts[f.keyAt] = f.text(v)
		}
		return nil
	})
	return strings.Join(parts[:len(p.schema.keys)], ",")
}
