package bigquerytest

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
)

// wideBatch is one request of rows whose sequence numbers can grow.
type wideBatch struct {
	request *storagepb.AppendRowsRequest
	rows    [][]byte
}

// sequenceText is how long the sequence number at the end of a wide row is.
const sequenceText = len("00000001/0000000000000001/0000000000000001/00000000")

// pass gives every row the first section of its sequence number.
func (w wideBatch) pass(n int) {
	epoch := fmt.Appendf(nil, "%08X", n)
	for _, row := range w.rows {
		copy(row[len(row)-sequenceText:], epoch)
	}
}

func wideBatches(rows, keys int) []wideBatch {
	var out []wideBatch
	for from := 0; from < keys; from += rows {
		var w wideBatch
		for id := from; id < from+rows; id++ {
			w.rows = append(w.rows, wideRow(id, id))
		}
		w.request = appendRequest(wideStream, nil, w.rows...)
		out = append(out, w)
	}
	return out
}

// BenchmarkApplied writes upserts of ten columns and about 250 bytes, each
// newer than the last one of its key, over gRPC on loopback. A background
// apply takes them into the baseline each time all keys have been written.
func BenchmarkApplied(b *testing.B) {
	const keys, inFlight = 100_000, 4
	for _, rows := range []int{500, 1000, 4000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			s := startServer(b, Config{IdleClose: 1000 * time.Hour})
			client := restClient(b, s)
			d := wideFixture(b, s, client)
			ddl(b, client, "ALTER TABLE w.wide SET OPTIONS (max_staleness = INTERVAL 10 MINUTE)")
			batches := wideBatches(rows, keys)
			before := heap()
			stream, err := storagepb.NewBigQueryWriteClient(dial(b, s)).AppendRows(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			slots, ended := make(chan struct{}, inFlight), make(chan error, 1)
			slots <- struct{}{}
			if err := stream.Send(appendRequest(wideStream, d)); err != nil {
				b.Fatal(err)
			}
			go func() { ended <- answered(stream, slots) }()
			n := 0
			for b.Loop() {
				if n%len(batches) == 0 && n > 0 {
					s.Advance(10 * time.Minute)
				}
				w := batches[n%len(batches)]
				w.pass(n/len(batches) + 1)
				select {
				case slots <- struct{}{}:
				case err := <-ended:
					b.Fatal(err)
				}
				if err := stream.Send(w.request); err != nil {
					b.Fatal(err)
				}
				n++
			}
			if err := errors.Join(stream.CloseSend(), <-ended); err != nil {
				b.Fatal(err)
			}
			s.Advance(10 * time.Minute)
			b.StopTimer()
			b.ReportMetric(float64(n*rows)/b.Elapsed().Seconds(), "rows/s")
			if n >= len(batches) {
				b.ReportMetric(float64(heap()-before)/keys, "B/key")
			}
			if got := s.Counters(); got.Rows != int64(n*rows) || got.Superseded != 0 {
				b.Fatalf("%+v", got)
			}
			if got := len(s.Baseline(project, "w", "wide")); got != min(keys, n*rows) {
				b.Fatalf("the baseline has %d rows", got)
			}
		})
	}
}

// answered takes answers until the stream ends; a refusal is an error.
func answered(stream storagepb.BigQueryWrite_AppendRowsClient, slots chan struct{}) error {
	for {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.GetError() != nil:
			return fmt.Errorf("refused: %v %v", r.GetError(), r.GetRowErrors())
		}
		<-slots
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
