package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apiv1 "cloud.google.com/go/pubsub/v2/apiv1"
	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// Admin looks at the topics and subscriptions of a database and creates them.
type Admin struct {
	want          Resources
	topics        *apiv1.TopicAdminClient
	subscriptions *apiv1.SubscriptionAdminClient
}

// NewAdmin returns an Admin over one connection of conn, which stays the
// caller's to close.
func NewAdmin(ctx context.Context, want Resources, conn Conn) (*Admin, error) {
	topics, err := apiv1.NewTopicAdminClient(ctx, option.WithGRPCConn(conn.Conn()))
	if err != nil {
		return nil, fmt.Errorf("make topic client: %w", err)
	}
	subscriptions, err := apiv1.NewSubscriptionAdminClient(ctx, option.WithGRPCConn(conn.Conn()))
	if err != nil {
		return nil, fmt.Errorf("make subscription client: %w", err)
	}
	return &Admin{want: want, topics: topics, subscriptions: subscriptions}, nil
}

// Check compares all topics and subscriptions with what they should be. A
// Finding is also what may not be looked at (code PERMISSION_DENIED). The error
// is that of a call that couldn't be made, such as UNAVAILABLE; the findings
// are then not complete.
func (a *Admin) Check(ctx context.Context) ([]Finding, error) {
	var findings []Finding
	for _, p := range a.want.Pairs {
		fs, err := a.checkPair(ctx, p)
		if err != nil {
			return findings, err
		}
		findings = append(findings, fs...)
	}
	return findings, nil
}

func (a *Admin) checkPair(ctx context.Context, p Pair) ([]Finding, error) {
	var findings []Finding
	topic, err := a.topics.GetTopic(ctx, &pubsubpb.GetTopicRequest{Topic: a.want.TopicName(p.Topic)})
	switch codeOf(err) {
	case codes.OK:
		findings = append(findings, a.want.compareTopic(p, topic)...)
	case codes.NotFound:
		findings = append(findings, Finding{
			Code:   "topic_missing",
			Detail: fmt.Sprintf("%s: topic %s doesn't exist", p.Use, p.Topic),
			Fix:    "run cdc-publisher init, or " + a.want.createTopicLine(p),
		})
	case codes.PermissionDenied:
		findings = append(findings, a.want.notAllowed(p, "topics", p.Topic))
	default:
		return findings, callError("get topic "+p.Topic, err)
	}
	subscription, err := a.subscriptions.GetSubscription(ctx,
		&pubsubpb.GetSubscriptionRequest{Subscription: a.want.SubscriptionName(p.Subscription)})
	switch codeOf(err) {
	case codes.OK:
		findings = append(findings, a.want.compareSubscription(p, subscription)...)
	case codes.NotFound:
		findings = append(findings, Finding{
			Code:   "subscription_missing",
			Detail: fmt.Sprintf("%s: subscription %s doesn't exist: Pub/Sub drops what is published to %s", p.Use, p.Subscription, p.Topic),
			Fix:    "run cdc-publisher init, or " + a.want.createLine(p),
		})
	case codes.PermissionDenied:
		findings = append(findings, a.want.notAllowed(p, "subscriptions", p.Subscription))
	default:
		return findings, callError("get subscription "+p.Subscription, err)
	}
	return findings, nil
}

// notAllowed: what can't be seen can't be vouched for.
func (r Resources) notAllowed(p Pair, kind, name string) Finding {
	return Finding{
		Code:   "pubsub_view_denied",
		Detail: fmt.Sprintf("%s: not allowed to look at %s %s", p.Use, kind, name),
		Fix: fmt.Sprintf("gcloud pubsub %s add-iam-policy-binding %s --project=%s --member=serviceAccount:ACCOUNT --role=roles/pubsub.viewer",
			kind, name, r.Project),
	}
}

// Init creates the topics and subscriptions that are missing and sets right what
// can be set right. It returns what it did, one line each; a second run does
// nothing and returns none. What is left, because it is fixed at creation or an
// answer was an error, is in the error; Init goes on after it.
func (a *Admin) Init(ctx context.Context) ([]string, error) {
	var (
		did  []string
		errs []error
	)
	for _, p := range a.want.Pairs {
		lines, err := a.initPair(ctx, p)
		did = append(did, lines...)
		errs = append(errs, err)
	}
	return did, errors.Join(errs...)
}

func (a *Admin) initPair(ctx context.Context, p Pair) ([]string, error) {
	findings, err := a.checkPair(ctx, p)
	if err != nil {
		return nil, err
	}
	var (
		did  []string
		errs []error
		mask fieldmaskpb.FieldMask
	)
	for _, f := range findings {
		switch {
		case f.Code == "topic_missing":
			_, err = a.topics.CreateTopic(ctx, &pubsubpb.Topic{Name: a.want.TopicName(p.Topic)})
			did, err = done(did, err, "create topic "+p.Topic)
		case f.Code == "subscription_missing":
			_, err = a.subscriptions.CreateSubscription(ctx, a.want.subscription(p))
			did, err = done(did, err, "create subscription "+p.Subscription)
		case f.mask != "":
			mask.Paths = append(mask.Paths, f.mask)
			err = nil
		default:
			err = &Error{code: f.Code, fix: f.Fix, text: f.Detail}
		}
		errs = append(errs, err)
	}
	if len(mask.Paths) > 0 {
		_, err = a.subscriptions.UpdateSubscription(ctx,
			&pubsubpb.UpdateSubscriptionRequest{Subscription: a.want.subscription(p), UpdateMask: &mask})
		did, err = done(did, err, fmt.Sprintf("update subscription %s: %s", p.Subscription, strings.Join(mask.Paths, ", ")))
		errs = append(errs, err)
	}
	return did, errors.Join(errs...)
}

// done adds what was done to did if err is nil. Somebody else who created the
// same thing meanwhile is as good.
func done(did []string, err error, what string) ([]string, error) {
	switch codeOf(err) {
	case codes.OK:
		return append(did, what), nil
	case codes.AlreadyExists:
		return did, nil
	}
	return did, callError(what, err)
}
