package pubsubtest

import (
	"fmt"
	"time"
)

// AckPolicy says what becomes of an ack that arrives while an earlier message
// of its ordering key is still unacked and not in the same request. The
// documentation leaves it open ("If the Ack IDs make it into the same ack batch,
// they will be acked. If not, they won't be, and there will be redelivery",
// googleapis/google-cloud-rust#3970, against the ordering page).
type AckPolicy int

const (
	// AckDeferred keeps the ack: it takes effect once all earlier messages of
	// the key are acked, and is forgotten if one of them is redelivered.
	AckDeferred AckPolicy = iota
	// AckDropped forgets the ack: the message's deadline runs out and it is
	// redelivered with all later ones of its key.
	AckDropped
)

// EndedPolicy says what becomes of an ordering key whose stream ended while it
// had outstanding messages.
type EndedPolicy int

const (
	// KeyReleased lets the key's next messages go to any other stream at once.
	// The outstanding ones stay leased until their deadline.
	KeyReleased EndedPolicy = iota
	// KeyHeld keeps the key's next messages back until the outstanding ones are
	// acked or expire (seen after server restarts; see the ordering page).
	KeyHeld
)

// Config sets up a [Server]. The zero value is usable.
type Config struct {
	// Addr is the loopback address to listen on; empty means 127.0.0.1:0.
	Addr string
	// ControlAddr is the loopback address of the control endpoint, by which faults,
	// counters and the clock can be reached from another process: see control.go.
	// Empty means none; 127.0.0.1:0 takes a free port.
	ControlAddr string
	// Record keeps every stored message for [Server.Stored]. Memory grows with
	// what is published.
	Record bool
	// OutOfOrderAcks is the fate of an ack that comes before an earlier one of
	// its key.
	OutOfOrderAcks AckPolicy
	// EndedStreams is the fate of a key whose stream ended.
	EndedStreams EndedPolicy
	// KeyRate is the fate of a publish request over the 1 MB/s of its key.
	KeyRate KeyRatePolicy
	// BatchMessages is the most messages in one StreamingPull response
	// (1–1000); 0 means 500 (no page has a number: ours, like BatchBytes').
	BatchMessages int
	// BatchBytes is about the most bytes of messages in one response, a Pull's too; a single
	// larger message still goes out alone. 0 means 1 MB.
	BatchBytes int
	// AckIDBytes is the length of an ack id (32–1024); 0 means 184, what the
	// service was seen to use (elixir-broadway/broadway_cloud_pub_sub#49). It
	// matters because an ack request may not exceed 524,288 bytes.
	AckIDBytes int
	// DeadLetterCopies is how often a message is forwarded to the dead-letter
	// topic; 0 means 1. With more, the message stays on the subscription though it
	// was forwarded and is forwarded again when it next fails ("the same message
	// might be dead lettered multiple times", DeadLetterPolicy).
	DeadLetterCopies int
	// DeadLetterOffset is how many attempts later (earlier, if negative) than
	// max_delivery_attempts a message is forwarded: the page calls that number
	// approximate, in both directions.
	DeadLetterOffset int
	// ForgetAttempts makes all delivery attempts of a subscription count from
	// anew when its last stream ends (they "may also reset to zero, especially for
	// a pull subscription with inactive subscribers": the dead-letter topics page).
	ForgetAttempts bool
	// PullWait is how long a unary Pull waits for a first message; 0 means 5 s.
	PullWait time.Duration
}

func (c Config) withDefaults() (Config, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.BatchMessages == 0 {
		c.BatchMessages = 500
	}
	if c.BatchBytes == 0 {
		c.BatchBytes = 1_000_000
	}
	if c.AckIDBytes == 0 {
		c.AckIDBytes = 184
	}
	if c.DeadLetterCopies == 0 {
		c.DeadLetterCopies = 1
	}
	if c.PullWait == 0 {
		c.PullWait = 5 * time.Second
	}
	switch {
	case c.BatchMessages < 1 || c.BatchMessages > 1000:
		return c, fmt.Errorf("BatchMessages %d is not 1–1000", c.BatchMessages)
	case c.BatchBytes < 1:
		return c, fmt.Errorf("BatchBytes %d is not positive", c.BatchBytes)
	case c.AckIDBytes < minAckIDBytes || c.AckIDBytes > 1024:
		return c, fmt.Errorf("AckIDBytes %d is not %d–1024", c.AckIDBytes, minAckIDBytes)
	case c.DeadLetterCopies < 0:
		return c, fmt.Errorf("DeadLetterCopies %d is negative", c.DeadLetterCopies)
	case c.PullWait < 0:
		return c, fmt.Errorf("PullWait %s is negative", c.PullWait)
	}
	return c, nil
}
