package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2"
	"google.golang.org/grpc"

	"cdc/publish"
	"cdc/schema"
	"cdc/sink/pull"
)

// clientCases use whole clients: Google's library, and the product's two ends.
func clientCases() []testCase {
	return []testCase{
		{
			id: "library-in-order", page: pageOrdering, want: "5 keys, each 0 1 2 3 4 5 6 7 8 9",
			text: "What the library's ordered Publisher sends its Receive gets in order.", run: libraryInOrder,
		},
		{
			id: "library-nack", page: pageOrdering, want: "a1 comes again, then a2",
			text: "A nack in Receive brings back the message and, behind it, the later ones of its key.", run: libraryNack,
		},
		{
			id: "product-in-order", page: pageOrdering, want: "5 keys, each 0 1 2 3 4 5 6 7 8 9",
			text: "What publish.Dispatcher sends sink/pull gets in order.", run: productInOrder,
		},
	}
}

const eachKeys, eachMessages = 5, 10

// byKey gathers the texts of each key and says when all have come.
type byKey struct {
	mu    sync.Mutex
	texts map[string][]string
	done  chan struct{}
}

func newByKey() *byKey { return &byKey{texts: map[string][]string{}, done: make(chan struct{})} }

func (b *byKey) add(key, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.texts[key] = append(b.texts[key], text)
	n := 0
	for _, all := range b.texts {
		n += len(all)
	}
	if n == eachKeys*eachMessages {
		close(b.done)
	}
}

// wait waits for all messages and returns what the keys got.
func (b *byKey) wait(e *env) string {
	select {
	case <-b.done:
	case <-time.After(10 * e.patience):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	outcomes := map[string]bool{}
	for _, all := range b.texts {
		outcomes[strings.Join(all, " ")] = true
	}
	if len(outcomes) != 1 {
		return fmt.Sprintf("keys differ: %v", b.texts)
	}
	for all := range outcomes {
		return fmt.Sprintf("%d keys, each %s", len(b.texts), all)
	}
	return ""
}

func (e *env) library() *pubsub.Client {
	project := strings.TrimPrefix(e.projectName(), "projects/")
	client, err := pubsub.NewClient(e.ctx, project, e.options...)
	e.need("library's client", err)
	e.ending = append(e.ending, func(context.Context) { _ = client.Close() })
	return client
}

// receive runs the library's Receive until the case ends.
func (e *env) receive(client *pubsub.Client, sub string, handle func(*pubsub.Message)) {
	s := client.Subscriber(sub)
	s.ReceiveSettings.ShutdownOptions = &pubsub.ShutdownOptions{Behavior: pubsub.ShutdownBehaviorNackImmediately, Timeout: time.Second}
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Receive(ctx, func(_ context.Context, m *pubsub.Message) { handle(m) })
	}()
	e.ending = append(e.ending, func(context.Context) { cancel(); <-done })
}

func libraryInOrder(e *env) string {
	topic, sub := e.orderedPair()
	client := e.library()
	publisher := client.Publisher(topic)
	publisher.EnableMessageOrdering = true
	var results []*pubsub.PublishResult
	for i := range eachMessages {
		for k := range eachKeys {
			results = append(results, publisher.Publish(e.ctx, &pubsub.Message{Data: []byte(strconv.Itoa(i)), OrderingKey: fmt.Sprint("k", k)}))
		}
	}
	publisher.Stop()
	for _, r := range results {
		_, err := r.Get(e.ctx)
		e.need("publish", err)
	}
	got := newByKey()
	e.receive(client, sub, func(m *pubsub.Message) {
		got.add(m.OrderingKey, string(m.Data))
		m.Ack()
	})
	return got.wait(e)
}

func libraryNack(e *env) string {
	topic, sub := e.orderedPair()
	e.send(topic, "k", "a0", "a1", "a2")
	got := make(chan string, 100)
	var once sync.Once
	e.receive(e.library(), sub, func(m *pubsub.Message) {
		got <- string(m.Data)
		nacked := false
		if string(m.Data) == "a1" {
			once.Do(func() { nacked = true })
		}
		if nacked {
			m.Nack()
		} else {
			m.Ack()
		}
	})
	var all []string
	quiet := e.patience
	for {
		select {
		case text := <-got:
			if len(all) == 0 || all[len(all)-1] != text {
				all = append(all, text)
			}
			quiet = max(time.Second, 2*e.settle)
			continue
		case <-time.After(quiet):
		}
		break
	}
	// The library doesn't drop what it holds: a2 may come before the nack and after.
	switch said := strings.Join(all, " "); {
	case strings.HasSuffix(said, "a2 a1 a2"), said == "a0 a1 a2":
		return "a1 comes again, then a2"
	default:
		return said
	}
}

func productInOrder(e *env) string {
	topic, sub := e.orderedPair()
	log := slog.New(slog.DiscardHandler)
	got := newByKey()
	var puller *pull.Puller
	puller, err := pull.New(e.ctx, pull.Config{
		Subscription: sub, Streams: 2, MaxMessages: 1000, MaxBytes: 1 << 20, Lease: 10 * time.Second, MaxLease: time.Hour,
	}, func(messages []*pull.Message) {
		for _, m := range messages {
			got.add(string(m.OrderingKey), string(m.Data))
			puller.Done(m)
		}
	}, log, e.options...)
	e.need("puller", err)
	conn, ok := e.dial().(*grpc.ClientConn)
	if !ok {
		e.stop("no connection")
	}
	dispatcher, err := publish.NewDispatcher(publish.Config{Topic: topic}, conn, log)
	e.need("dispatcher", err)
	ctx, cancel := context.WithCancel(e.ctx)
	var running sync.WaitGroup
	drained := make(chan struct{})
	running.Go(func() { _ = puller.Run(ctx, drained) })
	running.Go(func() { _ = dispatcher.Run(ctx) })
	e.ending = append(e.ending, func(context.Context) {
		cancel()
		close(drained)
		running.Wait()
		_ = puller.Close()
	})
	for i := range eachMessages {
		for k := range eachKeys {
			m := schema.Message{OrderingKey: fmt.Append(nil, "k", k), Data: []byte(strconv.Itoa(i))}
			e.need("publish", dispatcher.Publish(e.ctx, &m, 0, func(uint64) {}))
		}
	}
	return got.wait(e)
}
