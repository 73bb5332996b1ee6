package capture

import (
	"context"

	"cdc/schema"
)

// Publisher takes the messages of the stream.
//
// Publish copies m and everything it points to before it returns. It blocks
// while the publisher's byte limit is reached, and returns ctx's error if ctx is
// cancelled meanwhile; the message isn't published then. After Pub/Sub has
// accepted the message, accepted(tag) is called exactly once, from any goroutine
// and perhaps before Publish returns. Messages of one ordering key are stored in
// the order of the calls; Publish is called by one goroutine at a time.
type Publisher interface {
	Publish(ctx context.Context, m *schema.Message, tag uint64, accepted func(tag uint64)) error
}
