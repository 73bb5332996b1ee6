package bigquerytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	"google.golang.org/grpc"

	"cdc/standin/control"
)

// maxStreams is how many streams one connection carries.
const maxStreams = 100

// Server is a running stand-in. Its methods may be called from any goroutine.
type Server struct {
	config  Config
	clock   clock
	catalog *catalog
	faults  faults
	count   counters
	applied appliedLog
	jobs    jobs

	random struct {
		sync.Mutex
		*rand.Rand
	}
	requests  atomic.Uint64 // numbers appends
	roundTrip atomic.Int64  // nanoseconds

	connections connections

	// serving is held for reading by each REST call, so that Close waits for it.
	serving sync.RWMutex
	closed  bool

	restListener, storageListener net.Listener
	restServer                    *http.Server
	storageServer                 *grpc.Server
	control                       *control.Server // nil without Config.ControlAddr
	stop                          context.CancelFunc
	group                         sync.WaitGroup
}

// New starts a server. It listens when New returns.
func New(c Config) (*Server, error) {
	s := &Server{config: c.withDefaults()}
	if s.config.Seed == 0 {
		s.config.Seed = rand.Uint64() | 1
	}
	s.random.Rand = rand.New(rand.NewPCG(s.config.Seed, s.config.Seed))
	s.SetRoundTrip(s.config.RoundTrip)
	s.catalog = newCatalog(&s.config, &s.clock)
	s.count.refused = map[string]int64{}
	s.connections.open = map[*connection]struct{}{}

	var err error
	if s.restListener, err = net.Listen("tcp", s.config.Addr); err != nil {
		return nil, &listenError{"REST", s.config.Addr, err}
	}
	if s.storageListener, err = net.Listen("tcp", s.config.StorageAddr); err != nil {
		return nil, errors.Join(&listenError{"gRPC", s.config.StorageAddr, err}, s.restListener.Close())
	}
	s.start()
	if err := s.startControl(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Server) start() {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.restServer = &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	s.storageServer = grpc.NewServer(
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.MaxRecvMsgSize(maxReceiveBytes),
		grpc.WaitForHandlers(true),
	)
	storagepb.RegisterBigQueryWriteServer(s.storageServer, &writeServer{server: s})
	s.group.Go(func() {
		if err := s.restServer.Serve(s.restListener); !errors.Is(err, http.ErrServerClosed) {
			s.config.Log.Error(EventServerEnded, "code", "serve", "fix", fixServe, "api", "REST", "error", err)
		}
	})
	s.group.Go(func() {
		if err := s.storageServer.Serve(s.storageListener); err != nil {
			s.config.Log.Error(EventServerEnded, "code", "serve", "fix", fixServe, "api", "gRPC", "error", err)
		}
	})
	s.group.Go(func() { s.watchIdle(ctx) })
}

// watchIdle closes idle connections when real time alone made them so.
func (s *Server) watchIdle(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.closeIdle(s.clock.now())
		}
	}
}

// Addr is the REST server's URL, http://host:port: the value for
// option.WithEndpoint and for BIGQUERY_EMULATOR_HOST.
func (s *Server) Addr() string { return "http://" + s.restListener.Addr().String() }

// StorageAddr is the gRPC server's host:port, without TLS: the value for
// BIGQUERY_STORAGE_EMULATOR_HOST.
func (s *Server) StorageAddr() string { return s.storageListener.Addr().String() }

// Seed is what decides undefined winners; a Config with it repeats them for
// the same order of requests.
func (s *Server) Seed() uint64 { return s.config.Seed }

// Close ends all connections and returns when every goroutine has ended.
func (s *Server) Close() error {
	s.stop()
	s.storageServer.Stop()
	err := s.restServer.Close()
	s.serving.Lock()
	s.closed = true
	s.serving.Unlock()
	s.group.Wait()
	return errors.Join(err, s.control.Close())
}

// listenError says that an address can't be listened on.
type listenError struct {
	api, addr string
	err       error
}

func (e *listenError) Error() string {
	return fmt.Sprintf("listen for %s on %s: %v", e.api, e.addr, e.err)
}
func (e *listenError) Unwrap() error { return e.err }

// Code and Fix are for the person who started it.
func (*listenError) Code() string { return "listen" }

func (e *listenError) Fix() string {
	return "stop what uses " + e.addr + ", or choose another address (port 0 takes a free one)"
}
