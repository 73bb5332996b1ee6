package publish

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"google.golang.org/api/option"
	"google.golang.org/api/option/internaloption"
	gtransport "google.golang.org/api/transport/grpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// EmulatorEnv names the environment variable that chooses a stand-in instead of
// Pub/Sub: host:port. Google's own clients read it too.
const EmulatorEnv = "PUBSUB_EMULATOR_HOST"

// requestsPerConnection keeps below the 100 concurrent streams that Google's
// front end allows on a connection; beyond them calls queue in the client.
const requestsPerConnection = 80

// maxReceiveBytes bounds one answer.
const maxReceiveBytes = 64 << 20

// scope is what the credentials are asked for.
const scope = "https://www.googleapis.com/auth/pubsub"

// Endpoint says where Pub/Sub is and how many connections to hold.
type Endpoint struct {
	// Region is that of the locational endpoint. Order per key holds within one
	// region only (https://cloud.google.com/pubsub/docs/ordering).
	Region string
	// Emulator is host:port of a stand-in, reached without TLS or credentials;
	// the value of EmulatorEnv. If set, Region isn't used.
	Emulator string
	// MaxInFlight is the Dispatcher's: one connection for each 80.
	MaxInFlight int
	// UserAgent names the program and its version, cdc-publisher/1.2.3.
	UserAgent string
}

// Address returns host:port.
func (e Endpoint) Address() string {
	if e.Emulator != "" {
		return e.Emulator
	}
	return e.Region + "-pubsub.googleapis.com:443"
}

// connections returns how many connections the requests need.
func (e Endpoint) connections() int {
	return max(1, (e.MaxInFlight+requestsPerConnection-1)/requestsPerConnection)
}

// Conn is a pool of connections; its calls go round them. Close closes all.
type Conn interface {
	grpc.ClientConnInterface
	Conn() *grpc.ClientConn // one of them
	Num() int
	Close() error
}

// Connect opens the connections. They are made in the background: an endpoint
// that doesn't answer shows at the first call. With Pub/Sub itself it needs
// application default credentials and returns an *Error with Code
// publish_no_credentials without them.
func Connect(ctx context.Context, e Endpoint, log *slog.Logger) (Conn, error) {
	if e.Emulator == "" && e.Region == "" {
		return nil, &Error{
			code: "publish_no_region",
			fix:  "set pubsub.region: order per key holds within one region only",
			text: "connect to Pub/Sub: no region",
		}
	}
	options := []option.ClientOption{
		option.WithEndpoint(e.Address()),
		option.WithGRPCConnectionPool(e.connections()),
		option.WithUserAgent(e.UserAgent),
		option.WithTelemetryDisabled(),
		option.WithGRPCDialOption(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceiveBytes))),
		option.WithGRPCDialOption(grpc.WithKeepaliveParams(keepalive.ClientParameters{
			// A dead connection is noticed after at most 50 s. Google's servers allow
			// no more than a ping in 10 s.
			Time:    30 * time.Second,
			Timeout: 20 * time.Second,
		})),
	}
	if e.Emulator != "" {
		options = append(options,
			option.WithoutAuthentication(),
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
			internaloption.SkipDialSettingsValidation())
	} else {
		options = append(options, option.WithScopes(scope))
	}
	pool, err := gtransport.DialPool(ctx, options...)
	if err != nil {
		return nil, &Error{
			code: "publish_no_credentials",
			fix:  "set GOOGLE_APPLICATION_CREDENTIALS, attach a service account, or run `gcloud auth application-default login`",
			text: fmt.Sprintf("connect to %s: %v", e.Address(), err),
		}
	}
	log.Info(EventConnected, "endpoint", e.Address(), "connections", pool.Num())
	return pool, nil
}
