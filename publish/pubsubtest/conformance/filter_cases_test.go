package conformance

import (
	"slices"
	"strings"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
)

func filterCases() []testCase {
	filtered := func(filter string, ordering bool) func(*pubsubpb.Subscription) {
		return func(s *pubsubpb.Subscription) { s.Filter, s.EnableMessageOrdering = filter, ordering }
	}
	var out []testCase
	for _, row := range []struct{ id, filter, text, want string }{
		{"filter-equal", `attributes.op = "c"`, "A filter on an attribute's value delivers only what matches.", "c"},
		{"filter-not-equal", `attributes.op != "c"`, "!= delivers another value, and messages without the attribute.", "d dx none"},
		{"filter-has", `attributes:op`, "attributes:KEY delivers messages that have the attribute.", "c d dx"},
		{"filter-not", `NOT attributes:op`, "NOT turns a filter round.", "none"},
		{"filter-prefix", `hasPrefix(attributes.op, "d")`, "hasPrefix compares the value's beginning.", "d dx"},
		{"filter-or", `attributes.op = "c" OR attributes.op = "d"`, "OR joins filters.", "c d"},
		{"filter-and", `hasPrefix(attributes.op, "d") AND NOT attributes.op = "d"`, "AND joins filters.", "dx"},
	} {
		out = append(out, testCase{
			id: row.id, page: pageFilter, text: row.text, want: row.want,
			run: func(e *env) string {
				topic := e.topic()
				return e.throughFilter(topic, e.subscription(topic, filtered(row.filter, false)), "")
			},
		})
	}
	return append(out, testCase{
		id: "filter-ordered", page: pageFilter, want: "c", text: "The same with ordering: what doesn't match is acked by Pub/Sub and holds nothing up.",
		run: func(e *env) string {
			topic := e.topic()
			return e.throughFilter(topic, e.subscription(topic, filtered(`attributes.op = "c"`, true)), "k")
		},
	})
}

// throughFilter publishes messages with the attribute op c, d and dx, and one
// without, and returns what comes, in the order of publishing.
func (e *env) throughFilter(topic, sub, key string) string {
	p := e.open(sub)
	e.look()
	order := []string{"c", "d", "dx", "none"}
	for _, op := range order {
		m := message(key, op)
		if op != "none" {
			m.Attributes = map[string]string{"op": op}
		} else {
			m.Attributes = map[string]string{"other": "1"}
		}
		e.need("publish", e.publish(topic, m))
	}
	got := map[string]int{}
	for m := p.all(1); len(m) > 0; m = p.rest() {
		p.ack(m...)
		for _, m := range m {
			got[string(m.GetMessage().GetData())]++
		}
	}
	order = slices.DeleteFunc(order, func(op string) bool { return got[op] == 0 })
	if len(order) == 0 {
		return "nothing"
	}
	return strings.Join(order, " ")
}
