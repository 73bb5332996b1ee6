package pubsubtest

import (
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// filterCases are the examples of the filter page, and what lies between them,
// with the messages (of filterMessages) that match.
var filterCases = []struct{ filter, want string }{
	{`attributes:name`, "com co net empty both"},
	{`NOT attributes:name`, "none lang"},
	{`attributes.name = "com"`, "com both"},
	{`attributes.name="com"`, "com both"},
	{`attributes.name != "com"`, "none lang co net empty"},
	{`hasPrefix(attributes.name, "co")`, "com co both"},
	{`NOT hasPrefix(attributes.name, "co")`, "none lang net empty"},
	{`hasPrefix(attributes.name, "")`, "com co net empty both"},
	{`attributes.Name = "com"`, ""},
	{`attributes.name = "COM"`, ""},
	{`attributes."iana.org/language_tag" = "en"`, "lang both"},
	{`attributes:"iana.org/language_tag" AND NOT attributes.name = "com"`, "lang"},
	{`attributes:"iana.org/language_tag" AND (attributes.name = "com" OR attributes.name = "net")`, "both"},
	{`attributes.name = "com" AND -attributes:"iana.org/language_tag"`, "com"},
	{`-attributes:name`, "none lang"},
	{`NOT (attributes:name OR attributes:"iana.org/language_tag")`, "none"},
	{`attributes.name = "co" OR attributes.name = "net" OR attributes.name = ""`, "co net empty"},
	{`NOT attributes:name OR attributes.name = "co"`, "none lang co"}, // NOT binds first
	{`(attributes:name)`, "com co net empty both"},
	{"attributes:name\nAND attributes.name=\"net\"\t", "net"},
	{`attributes.name = "\x63\157\u006d"`, "com both"},
	{`attributes:"n\141me"`, "com co net empty both"},
	{`attributes:a-b_1`, ""},
	{`attributes:-x`, ""},
}

var filterMessages = []struct {
	text       string
	attributes map[string]string
}{
	{"none", nil},
	{"com", map[string]string{"name": "com"}},
	{"lang", map[string]string{"iana.org/language_tag": "en"}},
	{"co", map[string]string{"name": "co", "other": "com"}},
	{"net", map[string]string{"name": "net"}},
	{"empty", map[string]string{"name": ""}},
	{"both", map[string]string{"name": "com", "iana.org/language_tag": "en"}},
}

// TestFilter: of each key's messages only the matching ones arrive, in order, and
// the others are gone as if acked.
func TestFilter(t *testing.T) {
	for _, c := range filterCases {
		t.Run(c.filter, func(t *testing.T) {
			r := newRig(t, Config{PullWait: time.Nanosecond}, func(s *pubsubpb.Subscription) { s.Filter = c.filter })
			req := &pubsubpb.PublishRequest{Topic: testTopic}
			for _, m := range filterMessages {
				req.Messages = append(req.Messages, &pubsubpb.PubsubMessage{Data: []byte(m.text), Attributes: m.attributes, OrderingKey: "k"})
			}
			if _, err := r.pub.Publish(t.Context(), req); err != nil {
				t.Fatal(err)
			}
			want := strings.Fields(c.want)
			if n := r.Backlog(testSub); n != len(want) {
				t.Errorf("%d wait, want %d", n, len(want))
			}
			resp, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: 100})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, append([]string{}, texts(resp.GetReceivedMessages())...)); diff != "" {
				t.Errorf("delivered (-want +got):\n%s", diff)
			}
			if n := r.Counters().FilterAcked; n != int64(len(filterMessages)-len(want)) {
				t.Errorf("the filter acked %d", n)
			}
		})
	}
}

func TestRuleFilterSyntax(t *testing.T) {
	r := newRig(t, Config{})
	for filter, why := range map[string]string{
		// the page's examples
		`"com" = attributes.name`:                       `"com" instead of attributes, hasPrefix or (`,
		`attributes.name = attributes.website`:          `"attributes" instead of a string in double quotes`,
		`attributes:\u307F\u3093\u306A`:                 `"\\" instead of a key`,
		`attributes.name = "com" AND ("net" OR "b")`:    `"net" instead of attributes, hasPrefix or (`,
		`attributes:a AND attributes:b OR attributes:c`: `AND and OR are combined without parentheses`,
		`attributes:a OR attributes:b AND attributes:c`: `AND and OR are combined without parentheses`,
		// what it leaves out
		` `:                                 `the end instead of attributes, hasPrefix or (`,
		`attributes`:                        `the end instead of : or .`,
		`attributes:`:                       `the end instead of a key`,
		`attributes.a`:                      `the end instead of = or !=`,
		`attributes.a.b = "c"`:              `"." instead of = or !=`,
		`attributes.a = 'b'`:                `"'" instead of a string in double quotes`,
		`attributes.a = "b`:                 `"\"b" instead of a string in double quotes`,
		`attributes.a = "\q"`:               `"\"\\q\"" instead of a string in double quotes`,
		`attributes:a and attributes:b`:     `"and" instead of AND, OR or the end`,
		`not attributes:a`:                  `"not" instead of attributes, hasPrefix or (`,
		`attributes:a attributes:b`:         `"attributes" instead of AND, OR or the end`,
		`attributes:a AND`:                  `the end instead of attributes, hasPrefix or (`,
		`(attributes:a`:                     `the end instead of )`,
		`attributes:a)`:                     `")" instead of AND, OR or the end`,
		`NOT NOT attributes:a`:              `"NOT" instead of attributes, hasPrefix or (`,
		`hasPrefix(attributes.a)`:           `")" instead of ,`,
		`hasPrefix(attributes:a, "b")`:      `":" instead of .`,
		`hasSuffix(attributes.a, "b")`:      `"hasSuffix" instead of attributes, hasPrefix or (`,
		`data = "x"`:                        `"data" instead of attributes, hasPrefix or (`,
		`attributes.a > "b"`:                `">" instead of = or !=`,
		strings.Repeat("(", maxFilterBytes): `the end instead of attributes, hasPrefix or (`,
	} {
		_, err := r.create(t, func(s *pubsubpb.Subscription) { s.Filter = filter })
		r.wantRefused(t, RuleFilterSyntax, codes.InvalidArgument, "Invalid filter given (filter="+filter+"): "+why+".", err)
	}
}

// FuzzParseFilter: any bytes give an error or a filter that can be asked; NOT of
// it, in parentheses, is its opposite.
func FuzzParseFilter(f *testing.F) {
	for _, c := range filterCases {
		f.Add(c.filter, "name", "com")
	}
	f.Add(`attributes.name = "\U0010FFFF\xff"`, "name", "\U0010FFFF")
	f.Fuzz(func(t *testing.T, text, key, value string) {
		if len(text) > maxFilterBytes {
			return
		}
		got, err := parseFilter(text)
		if err != nil || got == nil {
			return
		}
		opposite, err := parseFilter("NOT (" + text + ")")
		if err != nil {
			t.Fatalf("%q, but not in parentheses: %v", text, err)
		}
		for _, attributes := range []map[string]string{nil, {key: value}} {
			if got(attributes) == opposite(attributes) {
				t.Fatalf("%q and its opposite agree on %q", text, attributes)
			}
		}
	})
}

// TestAttributesOf: a filter sees what the generated type reads.
func TestAttributesOf(t *testing.T) {
	for _, m := range filterMessages {
		body, err := proto.Marshal(&pubsubpb.PubsubMessage{Data: []byte("x"), Attributes: m.attributes, OrderingKey: "k"})
		if err != nil {
			t.Fatal(err)
		}
		got := attributesOf(body)
		if len(got) != len(m.attributes) {
			t.Errorf("%q became %q", m.attributes, got)
		}
		for k, v := range m.attributes {
			if got[k] != v {
				t.Errorf("%q became %q", m.attributes, got)
			}
		}
	}
}

// TestFilterAfterSeek: what the filter acked stays acked, though the topic kept it
// and the subscription is moved back.
func TestFilterAfterSeek(t *testing.T) {
	r := newServer(t, Config{})
	if _, err := r.pub.CreateTopic(t.Context(), &pubsubpb.Topic{Name: testTopic, MessageRetentionDuration: durationpb.New(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if err := r.CreateSubscription(&pubsubpb.Subscription{Name: testSub, Topic: testTopic, EnableMessageOrdering: true, Filter: `attributes:name`}); err != nil {
		t.Fatal(err)
	}
	start := r.Now()
	req := publishOf("k", "a", "b", "c", "d")
	req.Messages[1].Attributes = map[string]string{"name": "com"}
	req.Messages[3].Attributes = map[string]string{"name": ""}
	if _, err := r.pub.Publish(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	p := r.open(t)
	r.ack(t, p.wantTexts("b", "d")...)
	if _, err := r.sub.Seek(t.Context(), &pubsubpb.SeekRequest{Subscription: testSub, Target: &pubsubpb.SeekRequest_Time{Time: timestamppb.New(start)}}); err != nil {
		t.Fatal(err)
	}
	p.wantTexts("b", "d")
	p.wantNone()
	if n := r.Counters().FilterAcked; n != 2 {
		t.Errorf("the filter acked %d", n)
	}
}
