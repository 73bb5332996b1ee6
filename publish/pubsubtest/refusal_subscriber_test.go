package pubsubtest

import (
	"fmt"
	"testing"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/grpc/codes"
)

func TestRuleStreamFirstRequest(t *testing.T) {
	for field, req := range map[string]*pubsubpb.StreamingPullRequest{
		"subscription":             {Subscription: testSub},
		"max_outstanding_messages": {MaxOutstandingMessages: 1},
		"max_outstanding_bytes":    {MaxOutstandingBytes: 1},
		"protocol_version":         {ProtocolVersion: 1},
	} {
		t.Run(field, func(t *testing.T) {
			r := newRig(t, Config{})
			p := r.open(t)
			p.send(req)
			r.wantRefused(t, RuleStreamFirst, codes.InvalidArgument,
				"You have passed an invalid argument to the service (argument="+field+"): it may only be set in the first request of a stream.", p.wantEnd(codes.InvalidArgument))
		})
	}
}

func TestRuleStreamAckDeadline(t *testing.T) {
	text := func(n int32) string {
		return fmt.Sprintf("Invalid stream ack deadline given (stream_ack_deadline_seconds=%d). The ack deadline must be between 10 and 600 seconds.", n)
	}
	for _, n := range []int32{0, 9, 601, -1} {
		r := newRig(t, Config{})
		p := r.open(t, func(req *pubsubpb.StreamingPullRequest) { req.StreamAckDeadlineSeconds = n })
		r.wantRefused(t, RuleStreamDeadline, codes.InvalidArgument, text(n), p.wantEnd(codes.InvalidArgument))
	}
	r := newRig(t, Config{})
	p := r.open(t)
	p.send(&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 600})
	p.send(&pubsubpb.StreamingPullRequest{StreamAckDeadlineSeconds: 9})
	r.wantRefused(t, RuleStreamDeadline, codes.InvalidArgument, text(9), p.wantEnd(codes.InvalidArgument))
}

func TestRuleModifyLists(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	got := p.take(1)
	p.send(&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: ackIDsOf(got)})
	r.wantRefused(t, RuleModifyLists, codes.InvalidArgument,
		"Invalid arguments provided: the number of ack ids to modify must be equal to the number of ack deadlines.", p.wantEnd(codes.InvalidArgument))
}

func TestRuleModifyDeadline(t *testing.T) {
	r := newRig(t, Config{})
	p := r.open(t)
	r.send(t, "k", "a0")
	got := p.take(1)
	for _, secs := range []int32{-1, 601} {
		text := fmt.Sprintf("Invalid ack deadline given (ack_deadline=%d). The ack deadline must be between 0 and 600 seconds.", secs)
		_, err := r.sub.ModifyAckDeadline(t.Context(), &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: ackIDsOf(got), AckDeadlineSeconds: secs})
		r.wantRefused(t, RuleModifyDeadline, codes.InvalidArgument, text, err)
		q := r.open(t)
		q.send(&pubsubpb.StreamingPullRequest{ModifyDeadlineAckIds: ackIDsOf(got), ModifyDeadlineSeconds: []int32{secs}})
		r.wantRefused(t, RuleModifyDeadline, codes.InvalidArgument, text, q.wantEnd(codes.InvalidArgument))
	}
	r.modify(t, 600, got...)
}

func TestRuleAckIDMalformed(t *testing.T) {
	r := newRig(t, Config{})
	good := r.anyAckID()
	for _, id := range []string{"x", good[1:], "!" + good[1:], flip(good)} {
		text := fmt.Sprintf("You have passed an invalid ack ID to the service (ack_id=%q).", id)
		_, err := r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: []string{good, id}})
		r.wantRefused(t, RuleAckIDMalformed, codes.InvalidArgument, text, err)
		_, err = r.sub.ModifyAckDeadline(t.Context(), &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: []string{id}})
		r.wantRefused(t, RuleAckIDMalformed, codes.InvalidArgument, text, err)
		p := r.open(t)
		p.send(&pubsubpb.StreamingPullRequest{AckIds: []string{id}})
		r.wantRefused(t, RuleAckIDMalformed, codes.InvalidArgument, text, p.wantEnd(codes.InvalidArgument))
	}
}

// flip changes the first digit of an ack id, which its checksum finds.
func flip(id string) string {
	if id[0] == '0' {
		return "1" + id[1:]
	}
	return "0" + id[1:]
}

func TestRuleAckBytes(t *testing.T) {
	r := newRig(t, Config{})
	ids := make([]string, 2_804) // 187 bytes each on the wire
	for i := range ids {
		ids[i] = r.anyAckID()
	}
	const text = "Request payload size exceeds the limit: 524288 bytes."
	_, err := r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: ids})
	r.wantRefused(t, RuleAckBytes, codes.InvalidArgument, text, err)
	_, err = r.sub.ModifyAckDeadline(t.Context(), &pubsubpb.ModifyAckDeadlineRequest{Subscription: testSub, AckIds: ids, AckDeadlineSeconds: 10})
	r.wantRefused(t, RuleAckBytes, codes.InvalidArgument, text, err)
	if _, err := r.sub.Acknowledge(t.Context(), &pubsubpb.AcknowledgeRequest{Subscription: testSub, AckIds: ids[:2_500]}); err != nil {
		t.Error(err)
	}
}

func TestRulePullMaxMessages(t *testing.T) {
	r := newRig(t, Config{})
	_, err := r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub})
	r.wantRefused(t, RulePullMax, codes.InvalidArgument, `A required argument is missing in the request: (argument="max_messages").`, err)
	_, err = r.sub.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: testSub, MaxMessages: -1})
	r.wantRefused(t, RulePullMax, codes.InvalidArgument, "You have passed an invalid argument to the service (argument=max_messages).", err)
}
