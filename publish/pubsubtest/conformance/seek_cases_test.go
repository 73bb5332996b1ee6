package conformance

import (
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func (e *env) seek(sub string, to time.Time) error {
	_, err := e.sub.Seek(e.ctx, &pubsubpb.SeekRequest{Subscription: sub, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(to)}})
	return err
}

func retainAcked(s *pubsubpb.Subscription) { s.RetainAckedMessages = true }

func seekCases() []testCase {
	return []testCase{
		{
			id: "seek-back", page: pageReplay, want: "seek=OK again=a0 a1", endsPstest: true,
			text: "After a seek to an earlier time, messages published since are delivered again, if acked ones are retained.",
			run: func(e *env) string {
				topic, sub := e.orderedPair(retainAcked)
				e.send(topic, "k", "a0", "a1")
				p := e.open(sub)
				p.drain(2)
				p.close()
				err := e.seek(sub, time.Now().Add(-time.Hour))
				return list("seek", code(err), "again", texts(e.open(sub).drain(2)))
			},
		},
		{
			id: "seek-back-unretained", page: pageReplay, want: "seek=OK again=nothing", endsPstest: true,
			text: "Acked messages that aren't retained don't come again.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				p.ack(p.need(1)...)
				p.close()
				err := e.seek(sub, time.Now().Add(-time.Hour))
				return list("seek", code(err), "again", texts(e.open(sub).rest()))
			},
		},
		{
			id: "seek-forward", page: pageReplay, want: "seek=OK left=nothing later=a1", endsPstest: true,
			text: "A seek to a time acks all messages that were published before it; later ones are delivered.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				e.look() // so that the times differ
				err := e.seek(sub, time.Now())
				p := e.open(sub)
				left := texts(p.rest())
				e.send(topic, "k", "a1")
				return list("seek", code(err), "left", left, "later", texts(p.all(1)))
			},
		},
		{
			id: "seek-topic-retention", page: pageRPC + "Topic", want: "before=nothing seek=OK after=a0", endsPstest: true,
			text: "A topic's retention lets any subscription seek to messages that were published before it was created.",
			run: func(e *env) string {
				topic := e.topic(func(t *pubsubpb.Topic) { t.MessageRetentionDuration = durationpb.New(time.Hour) })
				e.send(topic, "k", "a0")
				e.look()
				sub := e.subscription(topic, ordered)
				p := e.open(sub)
				before := texts(p.rest())
				p.close()
				err := e.seek(sub, time.Now().Add(-30*time.Minute))
				return list("before", before, "seek", code(err), "after", texts(e.open(sub).all(1)))
			},
		},
		{
			id: "seek-filter", page: pageFilter, want: "seek=OK again=a0", endsPstest: true,
			text: "After a seek, too, only messages that match the filter are delivered.",
			run: func(e *env) string {
				topic := e.topic(func(t *pubsubpb.Topic) { t.MessageRetentionDuration = durationpb.New(time.Hour) })
				e.need("publish", e.publish(topic,
					&pubsubpb.PubsubMessage{Data: []byte("a0"), Attributes: map[string]string{"x": "1"}},
					&pubsubpb.PubsubMessage{Data: []byte("b0")}))
				sub := e.subscription(topic, func(s *pubsubpb.Subscription) { s.Filter = "attributes:x" })
				err := e.seek(sub, time.Now().Add(-30*time.Minute))
				return list("seek", code(err), "again", texts(e.open(sub).all(1)))
			},
		},
		{
			id: "seek-missing", page: pageRPC + "Subscriber", want: "NotFound",
			text: "A seek of a subscription that doesn't exist: NOT_FOUND.",
			run:  func(e *env) string { return code(e.seek(e.name("subscriptions"), time.Now())) },
		},
		{
			id: "snapshot", page: pageReplay, want: "create=OK seek=OK again=a0",
			text:   "A seek to a snapshot brings back what was unacked when it was made.",
			reason: "snapshots aren't implemented and refused with UNIMPLEMENTED: the product seeks by time only",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				snapshot := e.name("snapshots")
				_, err := e.sub.CreateSnapshot(e.ctx, &pubsubpb.CreateSnapshotRequest{Name: snapshot, Subscription: sub})
				if err != nil {
					return list("create", code(err))
				}
				defer func() { _, _ = e.sub.DeleteSnapshot(e.ctx, &pubsubpb.DeleteSnapshotRequest{Snapshot: snapshot}) }()
				p := e.open(sub)
				p.ack(p.need(1)...)
				p.close()
				_, seek := e.sub.Seek(e.ctx, &pubsubpb.SeekRequest{Subscription: sub, Target: &pubsubpb.SeekRequest_Snapshot{Snapshot: snapshot}})
				return list("create", "OK", "seek", code(seek), "again", texts(e.open(sub).all(1)))
			},
		},
	}
}
