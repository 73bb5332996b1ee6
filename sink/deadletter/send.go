package deadletter

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is an error that a person reads: what failed, a stable code, and what to do.
type Error struct {
	what string
	code string
	fix  string
	err  error
}

func (e *Error) Error() string {
	if e.err == nil {
		return e.what
	}
	return fmt.Sprintf("%s: %v", e.what, e.err)
}

// CodeTooLarge is the code of an error that is about one letter alone.
const CodeTooLarge = "dead_letter_too_large"

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.err }

// Code returns the stable name of the error.
func (e *Error) Code() string { return e.code }

// Fix says what to do about it.
func (e *Error) Fix() string { return e.fix }

// Sender publishes letters. It is safe for concurrent use.
type Sender struct {
	topic, source string
	client        *pubsub.Client
	publisher     *pubsub.Publisher
	log           *slog.Logger
}

// PublishTimeout is how long the library repeats one letter before Send does, and
// so how long Close may take.
const PublishTimeout = 5 * time.Second

// New returns a Sender to topic (projects/P/topics/T), whose connection is made
// with options when it is needed and lives until Close. source is the
// subscription that the letters' messages came from.
func New(ctx context.Context, topic, source string, log *slog.Logger, options ...option.ClientOption) (*Sender, error) {
	parts := strings.Split(topic, "/")
	if len(parts) != 4 || parts[0] != "projects" || parts[2] != "topics" {
		return nil, &Error{fmt.Sprintf("dead-letter topic %q", topic), "dead_letter_topic", "name it projects/PROJECT/topics/TOPIC", nil}
	}
	client, err := pubsub.NewClient(context.WithoutCancel(ctx), parts[1], options...)
	if err != nil {
		return nil, fmt.Errorf("connect to Pub/Sub: %w", err)
	}
	p := client.Publisher(topic)
	p.PublishSettings.DelayThreshold = time.Millisecond // refused rows come in groups, and wait for it
	p.PublishSettings.Timeout = PublishTimeout
	return &Sender{topic: topic, source: source, client: client, publisher: p, log: log}, nil
}

// Send publishes letters and returns nil once Pub/Sub has accepted all of them.
// It repeats what fails until ctx is cancelled, and returns an error with a Code
// and a Fix for an answer that time doesn't heal.
func (s *Sender) Send(ctx context.Context, letters []Letter) error {
	messages := make([]*pubsub.Message, len(letters))
	for i := range letters {
		m, err := letters[i].message(s.source)
		if err != nil {
			return err
		}
		messages[i] = m
	}
	backoff := gax.Backoff{Initial: 100 * time.Millisecond, Max: 30 * time.Second, Multiplier: 2}
	for {
		failed, err := s.publish(ctx, messages)
		if len(failed) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := fatal("publish dead letter to "+s.topic, err); err != nil {
			return err
		}
		pause := backoff.Pause()
		s.log.Warn(EventSendFailed, "message_id", failed[0].Attributes[AttrMessageID], "error", err, "retry_ms", pause.Milliseconds())
		if err := gax.Sleep(ctx, pause); err != nil {
			return err
		}
		messages = failed
	}
}

// publish publishes once and returns the messages that weren't accepted and why
// the first wasn't.
func (s *Sender) publish(ctx context.Context, messages []*pubsub.Message) (failed []*pubsub.Message, err error) {
	results := make([]*pubsub.PublishResult, len(messages))
	for i, m := range messages {
		results[i] = s.publisher.Publish(ctx, m)
	}
	for i, r := range results {
		if _, e := r.Get(ctx); e != nil {
			failed = append(failed, messages[i])
			if err == nil {
				err = e
			}
		}
	}
	return failed, err
}

// Close ends the publisher and its connection. What Send gave up on may still be
// published, for PublishTimeout at most.
func (s *Sender) Close() error {
	s.publisher.Stop()
	if err := s.client.Close(); err != nil {
		return fmt.Errorf("close connection to Pub/Sub: %w", err)
	}
	return nil
}

// Check returns an error with a Code and a Fix if the topic isn't there or has
// no subscription: Pub/Sub drops what is published to such a topic.
func (s *Sender) Check(ctx context.Context) error {
	what := "check dead-letter topic " + s.topic
	it := s.client.TopicAdminClient.ListTopicSubscriptions(ctx, &pubsubpb.ListTopicSubscriptionsRequest{Topic: s.topic})
	_, err := it.Next()
	switch {
	case errors.Is(err, iterator.Done):
		return &Error{
			what + ": no subscription", "dead_letter_subscription_missing",
			"create the subscription (cdc-publisher init): without one, dead letters are lost", nil,
		}
	case err == nil:
		return nil
	}
	if err := fatal(what, err); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", what, err)
}

// fatal returns an Error if err is an answer that time doesn't heal, else nil.
func fatal(what string, err error) error {
	if errors.Is(err, pubsub.ErrOversizedMessage) {
		return &Error{what, CodeTooLarge, "see which column makes the row so large and leave it out", err}
	}
	switch status.Code(err) {
	case codes.NotFound:
		return &Error{what, "dead_letter_topic_missing", "create the topic and its subscription (cdc-publisher init)", err}
	case codes.PermissionDenied, codes.Unauthenticated:
		return &Error{what, "dead_letter_permission", "grant roles/pubsub.publisher and roles/pubsub.viewer on the topic to the account of cdc-sink", err}
	case codes.InvalidArgument, codes.FailedPrecondition, codes.Unimplemented:
		return &Error{what, "dead_letter_refused", "see the message; report it if the topic has no schema or transform of its own", err}
	default:
		return nil
	}
}
