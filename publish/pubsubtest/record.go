package pubsubtest

import (
	"strconv"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/proto"
)

// StoredMessage is a message that the server accepted and stored.
type StoredMessage struct {
	ID          string
	PublishTime time.Time
	OrderingKey string
	Attributes  map[string]string
	Data        []byte
	Request     uint64 // number of the publish request that brought it, from 1 on
}

// Stored returns everything that the topic has stored, in storing order. It is
// empty unless Config.Record was set; messages published while the topic had no
// subscription and no retention were never stored.
func (s *Server) Stored(topic string) []StoredMessage {
	s.mu.Lock()
	var record []*message
	if t := s.topics[topic]; t != nil {
		record = t.record[:len(t.record):len(t.record)]
	}
	s.mu.Unlock()
	out := make([]StoredMessage, 0, len(record))
	for _, m := range record {
		var p pubsubpb.PubsubMessage
		if err := proto.Unmarshal(m.body, &p); err != nil {
			panic("pubsubtest: a message that was accepted can't be read: " + err.Error())
		}
		out = append(out, StoredMessage{
			ID: strconv.FormatUint(m.id, 10), PublishTime: time.Unix(0, m.time).UTC(),
			OrderingKey: m.key, Attributes: p.GetAttributes(), Data: p.GetData(), Request: m.req,
		})
	}
	return out
}
