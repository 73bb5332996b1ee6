package pubsubtest

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxAckRequestBytes is the limit of Acknowledge and ModifyAckDeadline.
const maxAckRequestBytes = 524_288

// request carries out a later request of a stream.
func (st *pullStream) request(data []byte) error {
	r, err := parseStreamingPull(data)
	if err != nil {
		return status.Errorf(codes.InvalidArgument, "Request contains an invalid argument: %v.", err)
	}
	s := st.s
	if field := onlyFirst(r); field != "" {
		return s.refusals.refuse(RuleStreamFirst, codes.InvalidArgument,
			"You have passed an invalid argument to the service (argument=%s): it may only be set in the first request of a stream.", field)
	}
	if r.deadlineSecs != 0 {
		if err := s.checkStreamDeadline(r.deadlineSecs); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.deadlineSecs != 0 {
		st.c.leaseSecs = int32(r.deadlineSecs)
	}
	if r.empty() && st.protocol >= 1 {
		st.pong = true
		st.c.idle = true
		st.c.wakeNow()
	}
	return st.apply(r)
}

// onlyFirst names a field that only the first request of a stream may have.
func onlyFirst(r *pullRequest) string {
	switch {
	case r.subscription != "":
		return "subscription"
	case r.maxMessages != 0:
		return "max_outstanding_messages"
	case r.maxBytes != 0:
		return "max_outstanding_bytes"
	case r.protocol != 0:
		return "protocol_version"
	}
	return ""
}

// apply carries out the acks and deadline changes of a stream's request. The
// caller holds mu.
func (st *pullStream) apply(r *pullRequest) error {
	s := st.s
	if len(r.modifyIDs) != len(r.modifySecs) {
		return s.refusals.refuse(RuleModifyLists, codes.InvalidArgument,
			"Invalid arguments provided: the number of ack ids to modify must be equal to the number of ack deadlines.")
	}
	acks, err := s.ackIDs(r.ackIDs)
	if err != nil {
		return err
	}
	modify, err := s.ackIDs(r.modifyIDs)
	if err != nil {
		return err
	}
	for _, secs := range r.modifySecs {
		if err := s.checkModify(secs); err != nil {
			return err
		}
	}
	sub, now := st.sub, s.now()
	sub.backlog.ack(sub.own(acks))
	for i, id := range modify {
		sub.backlog.modify(sub.own([]ackID{id}), now, int32(r.modifySecs[i]))
	}
	sub.active(s)
	s.followUp(sub)
	return nil
}

// acknowledge answers Acknowledge.
func (s *Server) acknowledge(_ context.Context, r *pullRequest) (*frame, error) {
	if err := s.checkAckRequest(r, r.ackIDs); err != nil {
		return nil, err
	}
	ids, err := s.ackIDs(r.ackIDs)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[r.subscription]
	if sub == nil {
		return nil, s.notFound(RuleSubscriptionMissing, r.subscription)
	}
	sub.backlog.ack(sub.own(ids))
	sub.active(s)
	return &frame{}, nil
}

// modifyAckDeadline answers ModifyAckDeadline.
func (s *Server) modifyAckDeadline(_ context.Context, r *pullRequest) (*frame, error) {
	if err := s.checkAckRequest(r, r.modifyIDs); err != nil {
		return nil, err
	}
	if err := s.checkModify(r.modifySecs[0]); err != nil {
		return nil, err
	}
	ids, err := s.ackIDs(r.modifyIDs)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[r.subscription]
	if sub == nil {
		return nil, s.notFound(RuleSubscriptionMissing, r.subscription)
	}
	sub.backlog.modify(sub.own(ids), s.now(), int32(r.modifySecs[0]))
	sub.active(s)
	s.followUp(sub)
	return &frame{}, nil
}

func (s *Server) checkAckRequest(r *pullRequest, ids [][]byte) error {
	switch {
	case r.size > maxAckRequestBytes:
		return s.refusals.refuse(RuleAckBytes, codes.InvalidArgument, "Request payload size exceeds the limit: %d bytes.", maxAckRequestBytes)
	case len(ids) == 0:
		return s.refusals.refuse(RuleArgumentMissing, codes.InvalidArgument, "You have not specified an ack ID in the request.")
	}
	return nil
}

func (s *Server) checkModify(secs int64) error {
	if secs < 0 || secs > maxLeaseSeconds {
		return s.refusals.refuse(RuleModifyDeadline, codes.InvalidArgument,
			"Invalid ack deadline given (ack_deadline=%d). The ack deadline must be between 0 and %d seconds.", secs, maxLeaseSeconds)
	}
	return nil
}

// ackIDs reads ack ids; one malformed id refuses the request.
func (s *Server) ackIDs(texts [][]byte) ([]ackID, error) {
	ids := make([]ackID, len(texts))
	for i, text := range texts {
		id, ok := parseAckID(text, s.cfg.AckIDBytes)
		if !ok {
			return nil, s.refusals.refuse(RuleAckIDMalformed, codes.InvalidArgument, "You have passed an invalid ack ID to the service (ack_id=%.200q).", text)
		}
		ids[i] = id
	}
	return ids, nil
}

// own keeps the ids that this subscription gave out: an id of another one is as
// good as an old one.
func (sub *subscription) own(ids []ackID) []ackID {
	kept := ids[:0]
	for _, id := range ids {
		if id.sub == sub.enc.sub {
			kept = append(kept, id)
		} else {
			sub.backlog.count.AcksStale++
		}
	}
	return kept
}
