package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

func orderCases() []testCase {
	return []testCase{
		{
			id: "ordered-delivery", page: pageOrdering, want: "a0 a1 a2 a3",
			text: "Messages of an ordering key are delivered in the order in which the service received them.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1")
				p := e.open(sub)
				got := p.drain(2)
				e.send(topic, "k", "a2", "a3")
				return texts(append(got, p.drain(2)...))
			},
		},
		{
			id: "several-outstanding", page: pageAckOrder, want: "20 of 20",
			text: "Later messages of a key are delivered while earlier ones aren't acked.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				var all []string
				for i := range 20 {
					all = append(all, fmt.Sprint("a", i))
				}
				e.send(topic, "k", all...)
				got := e.open(sub).all(20)
				if want := strings.Join(all[:len(got)], " "); texts(got) != want {
					return texts(got)
				}
				return fmt.Sprintf("%d of 20", len(got))
			},
		},
		{
			id: "affinity", page: pageAffinity, want: "0 of 20 keys split",
			text: "While messages of a key are outstanding on a stream, further ones go to that stream.",
			run:  affinity,
		},
		{
			id: "hand-over", page: pageHandOver, want: "0 of 10 keys moved while outstanding, 30 of 30 messages come",
			text: "A key moves to another stream only once nothing of it is outstanding.",
			run:  handOver,
		},
		{
			id: "ack-batch", page: pageAckOrder, want: "nothing",
			text: "Acks that come in one batch hold in any order.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1", "a2", "a3")
				p := e.open(sub)
				got := p.need(4)
				p.ack(got[3], got[1], got[0], got[2])
				e.expire()
				return texts(p.rest())
			},
		},
		{
			id: "ack-out-of-order", page: pageAckOrder, want: "a0 stays acked",
			text: "An ack of an earlier message holds though a later one was acked before in another request (whether the later one's holds is open).",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1")
				p := e.open(sub)
				got := p.need(2)
				p.ack(got[1])
				p.ack(got[0])
				e.expire()
				if again := texts(p.rest()); strings.Contains(again, "a0") {
					return again
				}
				return "a0 stays acked"
			},
		},
	}
}

// affinity publishes a second message of each key while the first is outstanding
// on one of two streams.
func affinity(e *env) string {
	topic, sub := e.orderedPair()
	streams := []*puller{e.open(sub), e.open(sub)}
	e.look()
	const keys = 20
	owners := map[string]map[int]bool{}
	for _, text := range []string{"a0", "a1"} {
		for k := range keys {
			e.send(topic, fmt.Sprint("k", k), text)
		}
		end := time.Now().Add(e.patience)
		for n := 0; n < keys && time.Now().Before(end); {
			for i, p := range streams {
				select {
				case m := <-p.msgs:
					key := m.GetMessage().GetOrderingKey()
					if owners[key] == nil {
						owners[key] = map[int]bool{}
					}
					owners[key][i] = true
					if n++; string(m.GetMessage().GetData()) != text {
						return "got " + string(m.GetMessage().GetData()) + " among " + text
					}
				case <-time.After(time.Millisecond):
				}
			}
			if n == keys && text == "a1" {
				split := 0
				for _, by := range owners {
					split += len(by) - 1
				}
				return fmt.Sprintf("%d of %d keys split", split, keys)
			}
		}
	}
	return "second messages don't come"
}

// handOver opens a second stream while the first has a message of each key. The
// next messages may come on the first or wait.
func handOver(e *env) string {
	topic, sub := e.orderedPair()
	const keys = 10
	send := func(text string) {
		for k := range keys {
			e.send(topic, fmt.Sprint("k", k), text)
		}
	}
	first := e.open(sub)
	send("a0")
	got := first.need(keys)
	second := e.open(sub)
	e.look()
	send("a1")
	got = append(got, first.take(keys)...)
	moved := second.rest()
	first.ack(got...)
	second.ack(moved...)
	e.look()
	got = append(got, first.rest()...)
	first.close()
	send("a2")
	got = append(got, moved...)
	got = append(got, second.drain(max(0, 3*keys-len(got)))...)
	return fmt.Sprintf("%s keys moved while outstanding, %s messages come", someOf(len(moved), keys), someOf(len(firsts(got)), 3*keys))
}

func redeliveryCases() []testCase {
	return slices.Concat(nackCases(), expiryCases())
}

func nackCases() []testCase {
	return []testCase{
		{
			id: "nack-mid-key", page: pageOrdering, want: "a1 a2 a3 a4",
			text: "If a message is redelivered, all messages received after it for the key are redelivered too.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1", "a2", "a3", "a4")
				p := e.open(sub)
				got := p.need(5)
				p.nack(got[1])
				return texts(p.all(4))
			},
		},
		{
			id: "nack-before-acked", page: pageOrdering, want: "a1 a2 a3 a4",
			text: "… whether or not they were already acknowledged.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1", "a2", "a3", "a4")
				p := e.open(sub)
				got := p.need(5)
				p.ack(got[0], got[2], got[3], got[4])
				p.nack(got[1])
				return texts(p.all(4))
			},
		},
		{
			id: "nack-unordered", page: pageOrdering, want: "a1",
			text: "Without ordering each message stands alone, also with ordering keys: a nack brings back only that one.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				e.send(topic, "k", "a0", "a1", "a2")
				p := e.open(sub)
				for _, m := range p.need(3) {
					if string(m.GetMessage().GetData()) == "a1" {
						p.nack(m)
					}
				}
				return texts(p.all(1))
			},
		},
		{
			id: "nack-other-keys", page: pageOrdering, want: "again=a0 a1 other=nothing",
			text: "A redelivery drags only messages of its own key.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1")
				e.send(topic, "l", "b0", "b1")
				p := e.open(sub)
				for _, m := range p.need(4) {
					if string(m.GetMessage().GetData()) == "a0" {
						p.nack(m)
					}
				}
				var again, other []*pubsubpb.ReceivedMessage
				for _, m := range p.all(2) {
					if m.GetMessage().GetOrderingKey() == "k" {
						again = append(again, m)
					} else {
						other = append(other, m)
					}
				}
				return list("again", texts(again), "other", texts(other))
			},
		},
		{
			id: "new-ack-id", page: pageRPC + "ReceivedMessage", want: "another ack id, the same message id",
			text: "An ack id is of one delivery; the message id stays.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				first := p.need(1)[0]
				p.nack(first)
				second := p.need(1)[0]
				ack, id := "another ack id", "the same message id"
				if first.GetAckId() == second.GetAckId() {
					ack = "the same ack id"
				}
				if first.GetMessage().GetMessageId() != second.GetMessage().GetMessageId() {
					id = "another message id"
				}
				return ack + ", " + id
			},
		},
	}
}

func expiryCases() []testCase {
	return []testCase{
		{
			id: "expiry-mid-key", page: pageOrdering, want: "a1 a2 a3",
			text: "The same redelivery of later messages when an ack deadline passes, acked ones too.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1", "a2", "a3")
				p := e.open(sub)
				got := p.need(4)
				p.ack(got[0], got[2], got[3])
				e.expire()
				return texts(firsts(p.all(3)))
			},
		},
		{
			id: "ack-beyond-unacked", page: pageAckOrder, want: "a0 a1",
			text: "An ack before an earlier message's, in another request, doesn't keep its message from coming again behind that one.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1")
				p := e.open(sub)
				p.ack(p.need(2)[1])
				e.expire()
				return texts(firsts(p.all(2)))
			},
		},
		{
			id: "drag-later-published", page: pageOrdering, want: "a0 a1 a2 a3",
			text: "A redelivered message drags the later ones of its key behind it, also those that are published meanwhile.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0", "a1", "a2")
				p := e.open(sub)
				got := p.need(3)
				e.send(topic, "k", "a3")
				got = append(got, p.need(1)...)
				p.ack(got[1], got[2])
				p.nack(got[0])
				return texts(p.all(4))
			},
		},
		{
			id: "drag-45-hours", page: pageOrdering, want: "a0 a1 a2",
			text: "It does so at any age within retention (45 hours where the clock can be moved, else seconds).",
			run:  dragOld,
		},
		{
			id: "expiry-unordered", page: pageRPC + "Subscription", want: "a0",
			text: "A message whose ack deadline passes is delivered again; acked ones aren't.",
			run: func(e *env) string {
				topic := e.topic()
				sub := e.subscription(topic)
				e.send(topic, "", "a0", "a1")
				p := e.open(sub)
				for _, m := range p.need(2) {
					if string(m.GetMessage().GetData()) == "a1" {
						p.ack(m)
					}
				}
				e.expire()
				return texts(firsts(p.all(1)))
			},
		},
		{
			id: "ack-stale", page: pageRPC + "AcknowledgeRequest", want: "OK",
			text: "Acknowledging a message whose ack deadline has expired may succeed, but the message may be sent again.",
			run: func(e *env) string {
				topic, sub := e.orderedPair()
				e.send(topic, "k", "a0")
				p := e.open(sub)
				first := p.need(1)
				e.expire()
				p.need(1)
				return code(e.ack(sub, first...))
			},
		},
	}
}

// dragOld has acked a1 and a2 and left a0, which comes again after the time.
func dragOld(e *env) string {
	topic, sub := e.orderedPair()
	e.send(topic, "k", "a0", "a1", "a2")
	p := e.open(sub)
	got := p.need(3)
	p.ack(got[1], got[2])
	p.close()
	if e.movesClock {
		e.pass(45 * time.Hour)
	} else {
		e.expire()
	}
	return texts(e.open(sub).all(3))
}
