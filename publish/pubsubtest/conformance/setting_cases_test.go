package conformance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/durationpb"
)

func settingCases() []testCase {
	return slices.Concat(boundCases(), policyBoundCases(), []testCase{{
		id: "default-settings", page: pageRPC + "Subscription", want: "deadline=10 retention=168h0m0s ttl=744h0m0s ordering=false",
		text: "Without other settings: ack deadline 10 s, retention 7 days, expiration after 31 days, no ordering.",
		run: func(e *env) string {
			s := e.settings(e.subscription(e.topic(), func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = 0 }))
			return list("deadline", fmt.Sprint(s.GetAckDeadlineSeconds()), "retention", s.GetMessageRetentionDuration().AsDuration().String(),
				"ttl", s.GetExpirationPolicy().GetTtl().AsDuration().String(), "ordering", fmt.Sprint(s.GetEnableMessageOrdering()))
		},
	}})
}

const day = 24 * time.Hour

// eachDuration creates something with each duration and lists the codes.
func eachDuration(try func(*durationpb.Duration) string, all ...time.Duration) string {
	var out []string
	for _, d := range all {
		out = append(out, fmt.Sprintf("%ds", int(d.Seconds())), try(durationpb.New(d)))
	}
	return list(out...)
}

func boundCases() []testCase {
	return []testCase{
		{
			id: "ack-deadline-bounds", page: pageRPC + "Subscription", want: "9=InvalidArgument 10=OK 600=OK 601=InvalidArgument -1=InvalidArgument",
			text: "ack_deadline_seconds is 10 to 600.",
			run: func(e *env) string {
				topic := e.topic()
				var out []string
				for _, n := range []int32{9, 10, 600, 601, -1} {
					out = append(out, fmt.Sprint(n), e.with(topic, func(s *pubsubpb.Subscription) { s.AckDeadlineSeconds = n }))
				}
				return list(out...)
			},
		},
		{
			id: "retention-bounds", page: pageRPC + "Subscription", want: "599s=InvalidArgument 600s=OK 2678400s=OK 2678401s=InvalidArgument",
			text: "A subscription's message_retention_duration is 10 minutes to 31 days.",
			run: func(e *env) string {
				topic := e.topic()
				return eachDuration(func(d *durationpb.Duration) string {
					return e.with(topic, func(s *pubsubpb.Subscription) { s.MessageRetentionDuration = d })
				}, 599*time.Second, 600*time.Second, 31*day, 31*day+time.Second)
			},
		},
		{
			id: "topic-retention-bounds", page: pageRPC + "Topic", want: "599s=InvalidArgument 600s=OK 2678400s=OK 2678401s=InvalidArgument",
			text: "A topic's message_retention_duration is 10 minutes to 31 days.",
			run: func(e *env) string {
				return eachDuration(func(d *durationpb.Duration) string {
					return code(e.tryTopic(&pubsubpb.Topic{Name: e.name("topics"), MessageRetentionDuration: d}))
				}, 599*time.Second, 600*time.Second, 31*day, 31*day+time.Second)
			},
		},
		{
			id: "expiration-bounds", page: pageRPC + "ExpirationPolicy", want: "86399s=InvalidArgument 86400s=OK",
			text: "expiration_policy.ttl is at least a day.",
			run: func(e *env) string {
				topic := e.topic()
				return eachDuration(func(d *durationpb.Duration) string {
					return e.with(topic, func(s *pubsubpb.Subscription) {
						s.MessageRetentionDuration = durationpb.New(time.Hour)
						s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{Ttl: d}
					})
				}, day-time.Second, day)
			},
		},
		{
			id: "expiration-never", page: pageRPC + "ExpirationPolicy", want: "policy without ttl",
			text: "With a policy without ttl the subscription never expires.",
			run: func(e *env) string {
				s := e.settings(e.subscription(e.topic(), func(s *pubsubpb.Subscription) { s.ExpirationPolicy = &pubsubpb.ExpirationPolicy{} }))
				if s.GetExpirationPolicy() == nil || s.GetExpirationPolicy().GetTtl().AsDuration() != 0 {
					return "ttl " + s.GetExpirationPolicy().GetTtl().AsDuration().String()
				}
				return "policy without ttl"
			},
		},
	}
}

func policyBoundCases() []testCase {
	return []testCase{
		{
			id: "retry-policy-bounds", page: pageRPC + "RetryPolicy", want: "600s=OK 601s=InvalidArgument",
			text: "The back-offs of a retry policy are 0 to 600 seconds.",
			run: func(e *env) string {
				topic := e.topic()
				return eachDuration(func(d *durationpb.Duration) string {
					return e.with(topic, func(s *pubsubpb.Subscription) { s.RetryPolicy = &pubsubpb.RetryPolicy{MaximumBackoff: d} })
				}, 600*time.Second, 601*time.Second)
			},
		},
		{
			id: "dead-letter-attempts-bounds", page: pageRPC + "DeadLetterPolicy", want: "4=InvalidArgument 5=OK 100=OK 101=InvalidArgument 0=OK",
			text: "max_delivery_attempts is 5 to 100; 0 means 5.",
			run: func(e *env) string {
				topic, dead := e.topic(), e.topic()
				var out []string
				for _, n := range []int32{4, 5, 100, 101, 0} {
					out = append(out, fmt.Sprint(n), e.with(topic, deadLetters(dead, n)))
				}
				return list(out...)
			},
		},
		{
			id: "dead-letter-topic-missing", page: pageRPC + "DeadLetterPolicy", want: "NotFound",
			text: "The operation fails if the dead-letter topic doesn't exist.",
			run:  func(e *env) string { return e.with(e.topic(), deadLetters(e.name("topics"), 5)) },
		},
		{
			id: "filter-bytes", page: pageFilter, want: "256=OK 257=InvalidArgument",
			text: "A filter has at most 256 bytes.",
			run: func(e *env) string {
				topic := e.topic()
				var out []string
				for _, n := range []int{256, 257} {
					filter := "attributes:" + strings.Repeat("a", n-len("attributes:"))
					out = append(out, fmt.Sprint(n), e.with(topic, func(s *pubsubpb.Subscription) { s.Filter = filter }))
				}
				return list(out...)
			},
		},
		{
			id: "filter-malformed", page: pageFilter, want: "open=InvalidArgument data=InvalidArgument",
			text: "A filter is an expression over attributes, in its language.",
			run: func(e *env) string {
				topic := e.topic()
				return list("open", e.with(topic, func(s *pubsubpb.Subscription) { s.Filter = `attributes.a = "` }),
					"data", e.with(topic, func(s *pubsubpb.Subscription) { s.Filter = `data = "x"` }))
			},
		},
	}
}

func deadLetters(topic string, attempts int32) func(*pubsubpb.Subscription) {
	return func(s *pubsubpb.Subscription) {
		s.DeadLetterPolicy = &pubsubpb.DeadLetterPolicy{DeadLetterTopic: topic, MaxDeliveryAttempts: attempts}
	}
}
