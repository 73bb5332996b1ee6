package pubsubtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress
	"google.golang.org/grpc/keepalive"

	"cdc/deploy/local/control"
)

const (
	// maxConcurrentStreams is what Google's front ends allow on one connection:
	// a client with more calls in flight needs more connections.
	maxConcurrentStreams = 100
	// maxReceiveBytes lets a request that is over a documented limit arrive, so
	// that it is refused by that limit and not by gRPC's.
	maxReceiveBytes = 64 << 20
	// The windows are wide so that many requests of one connection arrive at
	// once; gRPC's default of 64 KiB held publishing to a third.
	streamWindowBytes = 1 << 20
	connWindowBytes   = 16 << 20
	// minPing is how often a client may send gRPC keep-alives; gRPC's own
	// default, 5 minutes, would end the connections of Google's clients.
	minPing = 10 * time.Second
)

// Server is a Pub/Sub service on a loopback port. Its methods may be called from
// any goroutine. Of its locks faults.mu is taken before mu, and mu before
// refusals.mu.
type Server struct {
	cfg      Config
	listener *trackedListener
	grpc     *grpc.Server
	control  *control.Server // nil without Config.ControlAddr
	stop     context.CancelFunc
	ctx      context.Context // done once Close was called
	running  sync.WaitGroup  // serve loop, timer loop, stream readers, late calls

	refusals refusals
	answers  answers
	faults   faultQueue

	mu       sync.Mutex
	started  time.Time
	offset   time.Duration
	armed    int64 // when the timer loop wakes, ns; 0: nothing is due
	kick     chan struct{}
	laters   []later
	topics   map[string]*topic
	subs     map[string]*subscription
	subCount uint32
	nextID   uint64
	nextReq  uint64
	count    Counters
	sabotage *sabotage
}

// New starts a server. It listens when New returns; Close ends it.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("configure Pub/Sub stand-in: %w", err)
	}
	inner, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for Pub/Sub stand-in: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{
		cfg: cfg, listener: &trackedListener{Listener: inner}, ctx: ctx, stop: stop,
		started: time.Now(), kick: make(chan struct{}, 1),
		topics: map[string]*topic{}, subs: map[string]*subscription{},
		nextID: firstMessageID,
		// So that an ack id of a server that was killed is stale on the one started
		// after it: there it would else ack a message that was never received.
		subCount: rand.Uint32(),
		count:    Counters{Calls: map[string]int64{}},
	}
	s.grpc = grpc.NewServer(
		grpc.ForceServerCodecV2(codec{}),
		grpc.MaxConcurrentStreams(maxConcurrentStreams),
		grpc.MaxRecvMsgSize(maxReceiveBytes),
		grpc.MaxSendMsgSize(math.MaxInt32),
		grpc.InitialWindowSize(streamWindowBytes),
		grpc.InitialConnWindowSize(connWindowBytes),
		grpc.WriteBufferSize(128<<10),
		grpc.ReadBufferSize(128<<10),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: minPing, PermitWithoutStream: true}),
		grpc.UnaryInterceptor(s.intercept),
		grpc.WaitForHandlers(true), // so that none starts a goroutine behind Close
	)
	s.register()
	s.running.Go(func() { _ = s.grpc.Serve(s.listener) })
	s.running.Go(func() { s.runTimers(ctx) })
	if err := s.startControl(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Addr is the host and port to connect to without TLS, the form of
// PUBSUB_EMULATOR_HOST.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends all calls and streams at once, as a killed server does, and waits
// for its goroutines. All state is gone.
func (s *Server) Close() error {
	s.stop()
	s.grpc.Stop()
	s.running.Wait()
	return s.control.Close()
}

// Dial opens a connection for raw clients. The caller closes it.
func (s *Server) Dial(opts ...grpc.DialOption) (*grpc.ClientConn, error) {
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(20 << 20)),
	}, opts...)
	conn, err := grpc.NewClient("passthrough:///"+s.Addr(), opts...)
	if err != nil {
		return nil, fmt.Errorf("dial Pub/Sub stand-in: %w", err)
	}
	return conn, nil
}

// CreateTopic creates a topic with the default settings.
func (s *Server) CreateTopic(name string) error {
	_, err := (&publisherService{s: s}).CreateTopic(s.ctx, &pubsubpb.Topic{Name: name})
	return err
}

// CreateSubscription creates a subscription as the API call does.
func (s *Server) CreateSubscription(sub *pubsubpb.Subscription) error {
	_, err := (&subscriberService{s: s}).CreateSubscription(s.ctx, sub)
	return err
}

// register replaces the handlers of the hot methods by ones that take bytes.
func (s *Server) register() {
	publisher := pubsubpb.Publisher_ServiceDesc
	publisher.Methods = replace(publisher.Methods,
		byBytes("Publisher", "Publish", parsePublish, s.publish))
	s.grpc.RegisterService(&publisher, &publisherService{s: s})

	subscriber := pubsubpb.Subscriber_ServiceDesc
	subscriber.Methods = replace(subscriber.Methods,
		byBytes("Subscriber", "Acknowledge", parseAcknowledge, s.acknowledge),
		byBytes("Subscriber", "ModifyAckDeadline", parseModifyAckDeadline, s.modifyAckDeadline),
		byBytes("Subscriber", "Pull", parsePull, s.pull))
	subscriber.Streams = []grpc.StreamDesc{{
		StreamName: "StreamingPull", ServerStreams: true, ClientStreams: true,
		Handler: func(_ any, stream grpc.ServerStream) error {
			err := s.streamingPull(stream)
			s.answers.add(err)
			return err
		},
	}}
	s.grpc.RegisterService(&subscriber, &subscriberService{s: s})
}

func replace(methods []grpc.MethodDesc, with ...grpc.MethodDesc) []grpc.MethodDesc {
	out := append([]grpc.MethodDesc(nil), methods...)
	for _, w := range with {
		for i := range out {
			if out[i].MethodName == w.MethodName {
				out[i] = w
			}
		}
	}
	return out
}
