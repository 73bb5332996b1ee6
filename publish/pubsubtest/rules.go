package pubsubtest

// RuleID names a rule of the service; it is stable.
type RuleID string

// Rule is something that the service does or refuses, and where it says so.
// Page is a document of the service or, where that is silent, a thread in which
// its makers or users tell what it does; a text of an error that isn't quoted in
// one of them is ours. Test is the test of this package that breaks the rule
// with a raw Google client.
type Rule struct {
	ID   RuleID
	Page string
	Text string
	Test string
}

// Rules that refuse a request with an error.
const (
	RuleResourceName        RuleID = "resource-name"
	RuleExists              RuleID = "exists"
	RuleTopicMissing        RuleID = "topic-missing"
	RuleSubscriptionMissing RuleID = "subscription-missing"
	RuleArgumentMissing     RuleID = "argument-missing"
	RuleUpdateMask          RuleID = "update-mask"
	RuleRetention           RuleID = "retention"
	RuleAckDeadline         RuleID = "ack-deadline"
	RuleExpiration          RuleID = "expiration"
	RuleRetryPolicy         RuleID = "retry-policy"
	RuleDeadLetterAttempts  RuleID = "dead-letter-attempts"
	RuleDeadLetterTopic     RuleID = "dead-letter-topic"
	RuleFilter              RuleID = "filter-bytes"
	RuleDetached            RuleID = "detached"
	RulePublishMessages     RuleID = "publish-messages"
	RulePublishBytes        RuleID = "publish-bytes"
	RuleOneKey              RuleID = "one-ordering-key"
	RuleMessageEmpty        RuleID = "message-empty"
	RuleOrderingKeyBytes    RuleID = "ordering-key-bytes"
	RuleAttributes          RuleID = "attributes"
	RuleAttributeReserved   RuleID = "attribute-reserved"
	RuleKeyRate             RuleID = "key-rate"
	RuleFilterSyntax        RuleID = "filter-syntax"
	RuleStreamFirst         RuleID = "stream-first-request"
	RuleStreamDeadline      RuleID = "stream-ack-deadline"
	RuleModifyLists         RuleID = "modify-lists"
	RuleModifyDeadline      RuleID = "modify-deadline"
	RuleAckIDMalformed      RuleID = "ack-id-malformed"
	RuleAckBytes            RuleID = "ack-bytes"
	RulePullMax             RuleID = "pull-max-messages"
	RuleSeekTime            RuleID = "seek-time-invalid"
	RuleNotImplemented      RuleID = "not-implemented"
)

const (
	pageReference  = "https://docs.cloud.google.com/pubsub/docs/reference/rpc/google.pubsub.v1"
	pageOrdering   = "https://docs.cloud.google.com/pubsub/docs/ordering"
	pageQuotas     = "https://cloud.google.com/pubsub/quotas#resource_limits"
	pageFilter     = "https://docs.cloud.google.com/pubsub/docs/subscription-message-filter"
	pageNames      = "https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names"
	pageDeadLetter = "https://docs.cloud.google.com/pubsub/docs/dead-letter-topics"
	pageReplay     = "https://docs.cloud.google.com/pubsub/docs/replay-overview"
	pageProperties = "https://docs.cloud.google.com/pubsub/docs/subscription-properties"
	pageAckOrder   = "https://github.com/googleapis/google-cloud-rust/issues/3970"
)

// Rules are what the server follows. RULES.md is generated from them
// (go test -run TestRulesDocument -update).
var Rules = []Rule{
	{RuleResourceName, pageNames, "A topic or subscription id starts with a letter, has 3 to 255 of the characters A-Z a-z 0-9 - _ . ~ + %, and does not start with goog: else INVALID_ARGUMENT (text of a publish: googleapis/google-cloud-java#3333).", "TestRuleResourceName"},
	{RuleExists, pageReference + "#google.pubsub.v1.Subscriber", "Creating a topic or subscription that exists: ALREADY_EXISTS.", "TestRuleExists"},
	{RuleTopicMissing, pageReference + "#google.pubsub.v1.Publisher", "Publish, GetTopic, UpdateTopic, DeleteTopic, CreateSubscription on a topic that does not exist: NOT_FOUND.", "TestRuleTopicMissing"},
	{RuleSubscriptionMissing, pageReference + "#google.pubsub.v1.Subscriber", "Pull, StreamingPull, Acknowledge, ModifyAckDeadline, Seek, Get, Update, Delete on a subscription that does not exist, or is deleted meanwhile: NOT_FOUND.", "TestRuleSubscriptionMissing"},
	{RuleArgumentMissing, pageReference, "A field that the reference calls required is empty (topic, messages, subscription, ack_ids): INVALID_ARGUMENT; a seek without a target too, of which no page speaks.", "TestRuleArgumentMissing"},
	{RuleUpdateMask, pageReference + "#google.pubsub.v1.UpdateSubscriptionRequest", "An update names its fields; name, topic, ordering and filter can't be changed after creation: INVALID_ARGUMENT.", "TestRuleUpdateMask"},
	{RuleRetention, pageReference + "#google.pubsub.v1.Subscription", "message_retention_duration of a topic or subscription is 10 minutes to 31 days: else INVALID_ARGUMENT.", "TestRuleRetention"},
	{RuleAckDeadline, pageReference + "#google.pubsub.v1.Subscription", "ack_deadline_seconds is 10 to 600, 0 means 10: else INVALID_ARGUMENT.", "TestRuleAckDeadline"},
	{RuleExpiration, pageReference + "#google.pubsub.v1.Subscription", "expiration_policy.ttl is at least 1 day: else INVALID_ARGUMENT.", "TestRuleExpiration"},
	{RuleRetryPolicy, pageReference + "#google.pubsub.v1.RetryPolicy", "Both bounds of a retry policy are 0 to 600 s: else INVALID_ARGUMENT.", "TestRuleRetryPolicy"},
	{RuleDeadLetterAttempts, pageReference + "#google.pubsub.v1.DeadLetterPolicy", "max_delivery_attempts is 5 to 100, 0 means 5: else INVALID_ARGUMENT.", "TestRuleDeadLetterAttempts"},
	{RuleDeadLetterTopic, pageReference + "#google.pubsub.v1.DeadLetterPolicy", "Setting a dead-letter policy fails if its topic does not exist: NOT_FOUND.", "TestRuleDeadLetterTopic"},
	{RuleFilter, pageFilter, "A filter has at most 256 bytes: else INVALID_ARGUMENT.", "TestRuleFilterBytes"},
	{RuleFilterSyntax, pageFilter, "A filter is written in the filter language: AND, OR and NOT in capitals, parentheses where AND and OR meet, a key against a string: else INVALID_ARGUMENT.", "TestRuleFilterSyntax"},
	{RuleDetached, pageReference + "#google.pubsub.v1.Publisher", "Pull and StreamingPull on a detached subscription: FAILED_PRECONDITION; what it held is dropped.", "TestRuleDetached"},
	{RulePublishMessages, pageQuotas, "A publish request has at most 1,000 messages: else INVALID_ARGUMENT (text: googleapis/google-cloud-java#4757).", "TestRulePublishMessages"},
	{RulePublishBytes, pageQuotas, "A publish request has at most 10,000,000 bytes: else INVALID_ARGUMENT (limit and text: googleapis/google-cloud-python#5898).", "TestRulePublishBytes"},
	{RuleOneKey, pageReference + "#google.pubsub.v1.PubsubMessage", "All messages of a publish request have the same ordering key, or none: else FAILED_PRECONDITION (text: yoshidan/google-cloud-rust#226).", "TestRuleOneOrderingKey"},
	{RuleMessageEmpty, pageReference + "#google.pubsub.v1.PubsubMessage", "A message has data or at least one attribute: else INVALID_ARGUMENT (text: snowplow/snowbridge#34).", "TestRuleMessageEmpty"},
	{RuleOrderingKeyBytes, pageOrdering, "An ordering key has at most 1 KB (1,024 bytes): else INVALID_ARGUMENT.", "TestRuleOrderingKeyBytes"},
	{RuleAttributes, pageQuotas, "A message has at most 100 attributes, a key at most 256 and a value at most 1,024 bytes: else INVALID_ARGUMENT (texts: googleapis/java-pubsub#2312, snowplow/enrich#485; of their number: ours).", "TestRuleAttributes"},
	{RuleAttributeReserved, "https://docs.cloud.google.com/pubsub/docs/publisher#using-attributes", "An attribute's key does not start with goog: else INVALID_ARGUMENT; except googclient_, under which Google's own clients send what belongs to a trace (googleapis/google-cloud-go, pubsub/v2/trace.go).", "TestRuleAttributeReserved"},
	{RuleKeyRate, "https://cloud.google.com/pubsub/quotas", "An ordering key takes 1 MB/s (one second of it at once): what is over is answered late, or refused with RESOURCE_EXHAUSTED: open, so Config.KeyRate.", "TestRuleKeyRate"},
	{RuleStreamFirst, pageReference + "#google.pubsub.v1.StreamingPullRequest", "subscription, max_outstanding_messages, max_outstanding_bytes and protocol_version may only be set in a stream's first request: else it ends with INVALID_ARGUMENT.", "TestRuleStreamFirstRequest"},
	{RuleStreamDeadline, pageReference + "#google.pubsub.v1.StreamingPullRequest", "stream_ack_deadline_seconds is required in the first request, may be changed later, and is 10 to 600: else INVALID_ARGUMENT.", "TestRuleStreamAckDeadline"},
	{RuleModifyLists, pageReference + "#google.pubsub.v1.StreamingPullRequest", "modify_deadline_ack_ids and modify_deadline_seconds have the same length: else the stream ends with INVALID_ARGUMENT (text: googleapis/google-cloud-python#5913).", "TestRuleModifyLists"},
	{RuleModifyDeadline, pageReference + "#google.pubsub.v1.ModifyAckDeadlineRequest", "A new deadline is 0 to 600 s: else INVALID_ARGUMENT (text: commercetools/fs2-queues#141).", "TestRuleModifyDeadline"},
	{RuleAckIDMalformed, pageReference + "#google.pubsub.v1.StreamingPullRequest", "A malformed ack id aborts the stream, or refuses the request, with INVALID_ARGUMENT.", "TestRuleAckIDMalformed"},
	{RuleAckBytes, pageQuotas, "An Acknowledge or ModifyAckDeadline request has at most 524,288 bytes: else INVALID_ARGUMENT (text: googleapis/nodejs-pubsub#1864).", "TestRuleAckBytes"},
	{RulePullMax, pageReference + "#google.pubsub.v1.PullRequest", "max_messages of Pull is positive: else INVALID_ARGUMENT (texts: google/go-cloud#772, googleapis/google-cloud-dotnet#5378).", "TestRulePullMaxMessages"},
	{RuleSeekTime, pageReference + "#google.pubsub.v1.SeekRequest", "The time of a seek is a valid timestamp: else INVALID_ARGUMENT (the text is ours).", "TestRuleSeekTime"},
	{RuleNotImplemented, "(this stand-in)", "What this stand-in doesn't do (snapshots, exactly once, push, export, transforms, schemas) is refused with UNIMPLEMENTED, never passed over.", "TestRuleNotImplemented"},

	{"no-subscription", pageReference + "#google.pubsub.v1.DeadLetterPolicy", "What is published to a topic without a subscription is accepted and lost, unless the topic has a retention; a later subscription never gets it by itself.", "TestNoSubscriptionVanishes"},
	{"filter", pageFilter, "Only messages that match a subscription's filter are delivered, after a seek too; the service acks the others.", "TestFilter"},
	{"key-rate-delay", "https://cloud.google.com/pubsub/quotas", "With Config.KeyRate delayed, a request over its key's 1 MB/s is stored at once, so in order, and answered when the key's bytes are paid for.", "TestKeyRateDelayed"},
	{"server-fields", pageReference + "#google.pubsub.v1.PubsubMessage", "message_id (unique in the topic) and publish_time are set by the server, whatever the publisher put there.", "TestServerFields"},
	{"defaults", pageReference + "#google.pubsub.v1.Subscription", "Without other settings: ack deadline 10 s, retention 7 days, expiration 31 days, no dead letters, no back-off; a policy without ttl never expires.", "TestSubscriptionDefaults"},
	{"topic-deleted", pageReference + "#google.pubsub.v1.Publisher", "Deleting a topic leaves its subscriptions with the topic _deleted-topic_; a new topic of that name has none of them.", "TestTopicDeleted"},
	{"subscription-deleted", pageReference + "#google.pubsub.v1.Subscriber", "Deleting a subscription drops its messages; a new one of that name starts empty.", "TestSubscriptionDeleted"},
	{"list", pageReference + "#google.pubsub.v1.Publisher", "Topics, subscriptions and a topic's subscriptions are listed in pages.", "TestList"},
	{"ordered", pageOrdering, "Messages of one ordering key are delivered in the order in which the service received them.", "TestOrderedDelivery"},
	{"several-outstanding", pageAckOrder, "Later messages of a key are delivered while earlier ones are unacked.", "TestSeveralOutstanding"},
	{"unordered", pageReference + "#google.pubsub.v1.Subscription", "Without enable_message_ordering, or without a key, each message stands alone: a nack brings back only that one.", "TestUnorderedDelivery"},
	{"affinity", "https://medium.com/google-cloud/google-cloud-pub-sub-ordered-delivery-1e4181f60bc8", "While messages of a key are outstanding on a stream, further ones go to that stream.", "TestAffinity"},
	{"hand-over", "https://github.com/googleapis/nodejs-pubsub/issues/1135", "A key moves to another stream only once nothing of it is outstanding.", "TestHandOver"},
	{"redelivery-nack", pageOrdering, "If a message is redelivered, all later ones of its key that were delivered come again, acked ones too.", "TestNackRedeliversLaterOnes"},
	{"redelivery-expiry", pageOrdering, "The same when an ack deadline passes.", "TestExpiryRedeliversLaterOnes"},
	{"ack-batch", pageAckOrder, "Acks of one request hold in any order.", "TestAckBatchInAnyOrder"},
	{"ack-out-of-order", pageAckOrder, "An ack before an earlier one of its key, in another request, holds later or not at all: open, so Config.OutOfOrderAcks.", "TestAckOutOfOrder"},
	{"ack-stale", "https://cloud.google.com/pubsub/docs/exactly-once-delivery", "An ack whose lease is over, or of a message acked already, is answered with OK and does nothing.", "TestAckStale"},
	{"ack-any-stream", pageReference + "#google.pubsub.v1.StreamingPullRequest", "An ack id may be acked on another stream or by Acknowledge.", "TestAckOnAnyStream"},
	{"attempts", pageReference + "#google.pubsub.v1.ReceivedMessage", "Each delivery has a new ack id; if a dead-letter policy is set, delivery_attempt is 1 + the message's nacks + the deadlines that passed for it (not: deadlines that were extended), else 0. A message that comes again only because an earlier one of its key does has not failed: its attempt stays.", "TestDeliveryAttempts"},
	{"dead-letter", pageReference + "#google.pubsub.v1.DeadLetterPolicy", "A message that has failed max_delivery_attempts times is published to the dead-letter topic, with a new id, its ordering key and the attributes CloudPubSubDeadLetterSourceDeliveryCount, …Subscription, …SubscriptionProject and …TopicPublishTime (ids, not full names; the time as the service was seen to write it: 2022-08-12T15:56:29.732+00:00), and is acked on its subscription. Without a subscription on that topic it is lost.", "TestDeadLetter"},
	{"dead-letter-ordered", pageOrdering, "The same on an ordered subscription. The ordering page says that redelivery of later messages may not hold with a dead-letter topic, and that order may not be kept in it: here the forwarded message doesn't bring later ones of its key back; these stay as they are and go on.", "TestDeadLetterOrdered"},
	{"dead-letter-best-effort", pageDeadLetter, "Forwarding is best effort. By default it happens once, after exactly max_delivery_attempts; but it may come earlier or later (Config.DeadLetterOffset), several times (Config.DeadLetterCopies), and attempts may count from anew where a subscription has no subscriber (Config.ForgetAttempts).", "TestDeadLetterBestEffort"},
	{"dead-letter-topic-deleted", pageDeadLetter, "Attempts are counted only while the dead-letter topic is set up correctly: while it does not exist, messages are not forwarded, stay and come again. Here a new topic of that name serves again (no page says so).", "TestDeadLetterTopicDeleted"},
	{"retention-end", pageProperties, "An unacked message is dropped message_retention_duration after it was published, outstanding or not; at the latest: when the topic's retention is over too. (The page says that Pub/Sub \"might discard\" it then; here it does, at once.)", "TestRetentionEnds"},
	{"retain-acked", pageReference + "#google.pubsub.v1.Subscription", "With retain_acked_messages, acked messages stay for seek until the retention is over; without, they are gone.", "TestRetainAcked"},
	{"topic-retention", pageReference + "#google.pubsub.v1.Topic", "With message_retention_duration on a topic, its messages of that time are available to seek on any of its subscriptions: acked ones, and ones published before the subscription was created.", "TestTopicRetention"},
	{"expiration-end", pageProperties, "A subscription without activity for expiration_policy.ttl is deleted. Activity: an open stream, a Pull, an ack or deadline change, a seek, a change of settings; not Get or publishing. A policy without ttl never expires.", "TestSubscriptionExpires"},
	{"seek-past", pageReplay, "Seek to a time makes every retained message published at or after it unacked: all of them are delivered after it, in the order of their keys. Strictly consistent as to delivery; that older messages may still be delivered for about a minute is not played: here the seek takes effect at once, and earlier ack ids are stale.", "TestSeekPast"},
	{"seek-future", pageReplay, "Seek acks what was published before its time: a time now or in the future purges all. What is published later is not affected.", "TestSeekPurges"},
	{"hold-others", pageOrdering, "Unacked messages of a key can delay other keys, above all at server restarts or changes of traffic: fault HoldOthers; over when they are acked or expire.", "TestHoldOthers"},
	{"back-off", "https://docs.cloud.google.com/pubsub/docs/subscription-retry-policy", "With a retry policy, redelivery of a message waits exponentially longer between its bounds, by its own failures and not by those of its key; without one it is immediate.", "TestBackOff"},
	{"modify", pageReference + "#google.pubsub.v1.ModifyAckDeadlineRequest", "ModifyAckDeadline counts from its receipt; 0 gives the message back.", "TestModifyDeadline"},
	{"stream-deadline", pageReference + "#google.pubsub.v1.StreamingPullRequest", "Leases of a stream last as long as its stream_ack_deadline_seconds says when the message is sent.", "TestStreamDeadlineUsed"},
	{"outstanding-messages", pageReference + "#google.pubsub.v1.StreamingPullRequest", "A stream with max_outstanding_messages unacked messages gets no more until one is acked or nacked.", "TestOutstandingMessages"},
	{"outstanding-bytes", pageReference + "#google.pubsub.v1.StreamingPullRequest", "A stream with max_outstanding_bytes or more unacked gets no more.", "TestOutstandingBytes"},
	{"stream-properties", pageReference + "#google.pubsub.v1.StreamingPullResponse", "A stream's responses say whether the subscription is ordered.", "TestStreamProperties"},
	{"keep-alive", "https://github.com/googleapis/google-cloud-go/blob/main/pubsub/v2/iterator.go", "With protocol_version 1 an empty request is answered: the client closes a silent stream.", "TestKeepAlive"},
	{"stream-end", pageReference + "#google.pubsub.v1.StreamingPullRequest", "When a stream ends, its leases run on until their deadlines; its keys are released or held: open, so Config.EndedStreams.", "TestStreamEnd"},
	{"half-close", pageReference + "#google.pubsub.v1.Subscriber", "A half-closed stream ends with OK after its requests are carried out.", "TestHalfClose"},
	{"stream-unavailable", pageReference + "#google.pubsub.v1.Subscriber", "The server may end a stream with UNAVAILABLE; the client opens it again.", "TestStreamUnavailable"},
	{"concurrent-streams", "https://docs.cloud.google.com/pubsub/docs", "A connection carries at most 100 calls at once (what Google's front ends announce; no page names it).", "TestConcurrentStreams"},
	{"pull", pageReference + "#google.pubsub.v1.PullRequest", "Pull waits a bounded time for a first message and returns at most max_messages.", "TestPull"},
	{"pull-ordered", pageOrdering, "With Pull, only one batch of messages of a key is outstanding at a time.", "TestPullOneBatchPerKey"},
}
