package conformance

import (
	"slices"
	"testing"
)

// Pages that decide.
const (
	pageRPC         = "https://docs.cloud.google.com/pubsub/docs/reference/rpc/google.pubsub.v1#google.pubsub.v1."
	pageOrdering    = "https://docs.cloud.google.com/pubsub/docs/ordering"
	pageQuotas      = "https://docs.cloud.google.com/pubsub/quotas#resource_limits"
	pageNames       = "https://docs.cloud.google.com/pubsub/docs/pubsub-basics#resource_names"
	pageDeadLetters = "https://docs.cloud.google.com/pubsub/docs/dead-letter-topics"
	pageRetry       = "https://docs.cloud.google.com/pubsub/docs/subscription-retry-policy"
	pageFilter      = "https://docs.cloud.google.com/pubsub/docs/subscription-message-filter"
	pageExactlyOnce = "https://docs.cloud.google.com/pubsub/docs/exactly-once-delivery"
	pageReplay      = "https://docs.cloud.google.com/pubsub/docs/replay-overview"
	pageAckOrder    = "https://github.com/googleapis/google-cloud-rust/issues/3970"
	pageAffinity    = "https://medium.com/google-cloud/google-cloud-pub-sub-ordered-delivery-1e4181f60bc8"
	pageHandOver    = "https://github.com/googleapis/nodejs-pubsub/issues/1135"
)

// cases are all cases.
func cases() []testCase {
	return slices.Concat(publishCases(), nameCases(), settingCases(), resourceCases(), orderCases(), redeliveryCases(),
		streamCases(), flowCases(), pullCases(), policyCases(), deadLetterCases(), filterCases(), seekCases(), clientCases())
}

// TestCasesAreComplete: each has an id of its own, a page, a text and an outcome.
func TestCasesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range cases() {
		if c.id == "" || c.page == "" || c.text == "" || c.want == "" || c.run == nil {
			t.Errorf("case %+v lacks something", c)
		}
		if seen[c.id] {
			t.Errorf("two cases %q", c.id)
		}
		seen[c.id] = true
	}
}
