package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	"google.golang.org/api/iterator"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// env is what one case works with: the clients and a dataset of its own.
type env struct {
	*clients
	ctx     context.Context
	dataset string
	closing []func()
}

// settle is how long a new table or a changed schema may take to be seen.
const settle = 10 * time.Minute

// sql runs a statement with the case's dataset as the default one.
func (e *env) sql(statement string) ([][]bigquery.Value, error) {
	q := e.query.Query(statement)
	q.DefaultDatasetID = e.dataset
	q.Location = e.location
	it, err := q.Read(e.ctx)
	if err != nil {
		return nil, err
	}
	var out [][]bigquery.Value
	for {
		var row []bigquery.Value
		err := it.Next(&row)
		if errors.Is(err, iterator.Done) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
}

// ddl runs statements that must succeed.
func (e *env) ddl(statements ...string) error {
	for _, s := range statements {
		if _, err := e.sql(s); err != nil {
			return err
		}
	}
	return nil
}

// wantRows compares a query's result, each row as its values joined by spaces.
func (e *env) wantRows(query string, want ...string) error {
	rows, err := e.sql(query)
	if err != nil {
		return err
	}
	var got []string
	for _, r := range rows {
		var parts []string
		for _, v := range r {
			parts = append(parts, valueText(v))
		}
		got = append(got, strings.Join(parts, " "))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		return fmt.Errorf("%s: got %q, want %q", query, got, want)
	}
	return nil
}

// writer is a managed stream to one table with one writer schema.
type writer struct {
	*managedwriter.ManagedStream
	e *env
	d *rowSchema
}

func (e *env) path(table string) string {
	return managedwriter.TableParentFromParts(e.project, e.dataset, table)
}

// writer opens the table's default stream, waiting for a table that is new.
func (e *env) writer(table string, d *rowSchema) (*writer, error) {
	return e.writerOf(e.write, table, d)
}

func (e *env) writerOf(client *managedwriter.Client, table string, d *rowSchema) (*writer, error) {
	var m *managedwriter.ManagedStream
	err := e.eventually(e.ctx, settle, func() (_ bool, err error) {
		m, err = client.NewManagedStream(e.ctx, managedwriter.WithDestinationTable(e.path(table)), managedwriter.WithType(managedwriter.DefaultStream), managedwriter.WithSchemaDescriptor(d.proto))
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	e.closing = append(e.closing, func() { _ = m.Close() })
	return &writer{m, e, d}, nil
}

// answer sends rows, each as JSON, and returns the whole answer.
func (w *writer) answer(rows []string, opts ...managedwriter.AppendOption) (*storagepb.AppendRowsResponse, error) {
	var data [][]byte
	for _, r := range rows {
		b, err := w.d.row(r)
		if err != nil {
			return nil, err
		}
		data = append(data, b)
	}
	result, err := w.AppendRows(w.e.ctx, data, opts...)
	if err != nil {
		return nil, err
	}
	return result.FullResponse(w.e.ctx)
}

// append sends rows that must be stored. A table that was just made may be
// unknown for a while, and a connection that was idle closed.
func (w *writer) append(rows ...string) error {
	return w.e.eventually(w.e.ctx, settle, func() (bool, error) {
		_, err := w.answer(rows)
		for range 2 {
			if errors.Is(err, io.EOF) || status.Code(err) == codes.Aborted { // an idle connection's end
				_, err = w.answer(rows)
			}
		}
		if err != nil && status.Code(err) != codes.NotFound {
			return true, fmt.Errorf("append %s: %w", rows, err)
		}
		return err == nil, err
	})
}

// store opens the table's stream and appends the rows in one request.
func (e *env) store(table string, d *rowSchema, rows ...string) (*writer, error) {
	w, err := e.writer(table, d)
	if err != nil {
		return nil, err
	}
	return w, w.append(rows...)
}

// refuses sends rows that must be refused with the code and a text that
// contains each of these, in the message or in a row error.
func (w *writer) refuses(code codes.Code, texts []string, rows ...string) error {
	r, err := w.answer(rows)
	if err == nil {
		return fmt.Errorf("append %s: stored", rows)
	}
	messages := []string{err.Error()}
	for _, e := range r.GetRowErrors() {
		messages = append(messages, e.GetMessage())
	}
	all := strings.Join(messages, " ")
	for _, text := range texts {
		if !strings.Contains(all, text) {
			return fmt.Errorf("append %s: %s without %q", rows, all, text)
		}
	}
	if got := status.Code(err); got != code {
		return fmt.Errorf("append %s: %v, want %v", rows, got, code)
	}
	return nil
}

// refused turns an error into success, unless it only says that the stand-in
// doesn't have what the case needs.
func refused(err error) error {
	switch {
	case err == nil:
		return errors.New("not refused")
	case strings.Contains(err.Error(), "bigquerytest:"), strings.Contains(err.Error(), "this server"), status.Code(err) == codes.Unimplemented:
		return fmt.Errorf("not built: %w", err)
	}
	return nil
}

// firstError is for steps that must all go well.
func firstError(steps ...func() error) error {
	for _, s := range steps {
		if err := s(); err != nil {
			return err
		}
	}
	return nil
}

func (e *env) makeDataset() error {
	return e.query.Dataset(e.dataset).Create(e.ctx, &bigquery.DatasetMetadata{Location: e.location, DefaultTableExpiration: 24 * time.Hour})
}
