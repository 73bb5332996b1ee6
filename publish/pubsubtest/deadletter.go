package pubsubtest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"
)

// Attributes that a forwarded message has besides its own.
const (
	deadLetterPrefix  = "CloudPubSubDeadLetterSource"
	deadLetterCount   = deadLetterPrefix + "DeliveryCount"
	deadLetterSub     = deadLetterPrefix + "Subscription"
	deadLetterProject = deadLetterPrefix + "SubscriptionProject"
	deadLetterTime    = deadLetterPrefix + "TopicPublishTime"

	// deadLetterTimeForm is how the service was seen to write the time.
	deadLetterTimeForm = "2006-01-02T15:04:05.000-07:00"
)

// deadLetter is a message that is to be forwarded.
type deadLetter struct {
	msg      *message
	attempts int
}

// bury counts a failure and makes the message a dead letter if it has failed
// often enough; without a topic to forward it to, attempts aren't counted. It
// reports whether the message has left the subscription.
func (b *backlog) bury(e *entry) bool {
	e.failures += min(1, math.MaxUint16-e.failures)
	if b.maxAttempts == 0 || !b.canForward() {
		return false
	}
	e.attempts += min(1, math.MaxUint16-e.attempts)
	if int(e.attempts) < b.maxAttempts {
		return false
	}
	b.dead = append(b.dead, deadLetter{e.msg, int(e.attempts)})
	b.count.DeadLettered++
	if int(e.attempts) < b.maxAttempts+b.copies-1 {
		return false
	}
	b.detach(e)
	b.finish(e)
	return true
}

// canForward reports whether the subscription's dead-letter topic exists. The
// caller holds mu.
func (s *Server) canForward(sub *subscription) bool {
	return s.topics[sub.proto.GetDeadLetterPolicy().GetDeadLetterTopic()] != nil
}

// followUp does what an operation on the subscription leaves to do: it forwards
// the dead letters and sets the timer. The caller holds mu.
func (s *Server) followUp(sub *subscription) {
	b := sub.backlog
	if len(b.dead) > 0 {
		dead := b.dead
		b.dead = nil
		t := s.topics[sub.proto.GetDeadLetterPolicy().GetDeadLetterTopic()]
		for _, d := range dead {
			s.store(t, &publishRequest{messages: []publishMessage{{body: sub.letter(d), key: []byte(d.msg.key)}}})
		}
	}
	s.arm(b.next())
}

// letter is the body of a forwarded message: the original with the attributes of
// its source.
func (sub *subscription) letter(d deadLetter) []byte {
	var m pubsubpb.PubsubMessage
	if err := proto.Unmarshal(d.msg.body, &m); err != nil {
		panic(fmt.Sprintf("pubsubtest: message %d, which was accepted, can't be read: %v", d.msg.id, err))
	}
	if m.Attributes == nil {
		m.Attributes = map[string]string{}
	}
	name := sub.proto.GetName()
	m.Attributes[deadLetterCount] = strconv.Itoa(d.attempts)
	m.Attributes[deadLetterSub] = lastPart(name)
	m.Attributes[deadLetterProject] = strings.Split(name, "/")[1]
	m.Attributes[deadLetterTime] = time.Unix(0, d.msg.time).UTC().Format(deadLetterTimeForm)
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(&m)
	if err != nil {
		panic(fmt.Sprintf("pubsubtest: encode a dead letter: %v", err))
	}
	return body
}
