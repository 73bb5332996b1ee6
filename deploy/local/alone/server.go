package alone

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"syscall"

	"cdc/capture/postgrestest"
	"cdc/publish/pubsubtest"
	"cdc/sink/bigquerytest"
)

// server is one of Names, running.
type server struct {
	name    string
	exports []string          // NAME=VALUE, for a shell
	control string            // host:port; "" for none
	counts  func() []quantity // nil: nothing to count
	close   func() error
}

func (o Options) start(ctx context.Context, name string) (*server, error) {
	switch name {
	case "pubsub":
		return o.startPubSub()
	case "bigquery":
		return o.startBigQuery()
	default:
		return o.startPostgres(ctx)
	}
}

func (o Options) startPubSub() (*server, error) {
	s, err := pubsubtest.New(pubsubtest.Config{Addr: o.addr("pubsub"), ControlAddr: o.addr("pubsub-control")})
	if err != nil {
		return nil, o.explain(err)
	}
	return &server{
		name: "pubsub", exports: []string{"PUBSUB_EMULATOR_HOST=" + s.Addr()}, control: s.ControlAddr(), close: s.Close,
		counts: func() []quantity {
			c, backlog := s.Counters(), 0
			subs := s.Subscriptions()
			for _, sub := range subs {
				backlog += sub.Backlog
			}
			return []quantity{
				{"topics", int64(len(s.Topics())), false},
				{"subscriptions", int64(len(subs)), false},
				{"published", c.Published, true},
				{"delivered", c.Delivered, false},
				{"acked", c.Acks, true},
				{"redelivered", c.Redelivered, false},
				{"backlog", int64(backlog), false},
				{"refused", sum(c.Refused), false},
				{"faults", c.Faults, false},
			}
		},
	}, nil
}

func (o Options) startBigQuery() (*server, error) {
	s, err := bigquerytest.New(bigquerytest.Config{
		Addr: o.addr("bigquery"), StorageAddr: o.addr("bigquery-storage"), ControlAddr: o.addr("bigquery-control"),
	})
	if err != nil {
		return nil, o.explain(err)
	}
	return &server{
		name:    "bigquery",
		exports: []string{"BIGQUERY_EMULATOR_HOST=" + s.Addr(), "BIGQUERY_STORAGE_EMULATOR_HOST=" + s.StorageAddr()},
		control: s.ControlAddr(), close: s.Close,
		counts: func() []quantity {
			c := s.Counters()
			return []quantity{
				{"tables", int64(s.TableCount()), false},
				{"rows", c.Rows, true},
				{"rows_refused", c.RowsRefused, false},
				{"appends", c.Appends, false},
				{"connections", c.OpenConnections, false},
				{"queries", c.Queries, false},
				{"calls", c.RESTCalls, false},
				{"refused", sum(c.Refused), false},
				{"faults", c.FaultsUsed, false},
			}
		},
	}, nil
}

func (o Options) startPostgres(ctx context.Context) (*server, error) {
	s, err := postgrestest.Launch(ctx, postgrestest.Options{Progress: func(what string) { fmt.Fprintln(o.Out, what) }})
	if err != nil {
		return nil, err
	}
	return &server{name: "postgres", exports: []string{"DATABASE_URL='" + s.DSN("postgres") + "'"}, close: s.Close}, nil
}

func sum[K comparable](counts map[K]int64) (total int64) {
	for _, n := range counts {
		total += n
	}
	return total
}

// portTaken says that something else listens on a port.
type portTaken struct {
	name string
	port int
	err  error
}

func (e *portTaken) Error() string {
	return fmt.Sprintf("port %d (%s) is in use: %v", e.port, e.name, e.err)
}
func (e *portTaken) Unwrap() error { return e.err }

// Code and Fix are for the person who started it.
func (*portTaken) Code() string { return "port_in_use" }

func (e *portTaken) Fix() string {
	return fmt.Sprintf("stop what listens there (ss -ltnp 'sport = :%d' shows it), or take another port: --ports %s=PORT, 0 for any free one", e.port, e.name)
}

// explain names the port that an error of listening is about.
func (o Options) explain(err error) error {
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	at, ok := op.Addr.(*net.TCPAddr)
	if !ok {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(defaultPorts)) {
		if o.port(name) == at.Port {
			return &portTaken{name, at.Port, op}
		}
	}
	return err
}
