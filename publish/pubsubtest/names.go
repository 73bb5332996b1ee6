package pubsubtest

import (
	"regexp"
	"strings"

	"google.golang.org/grpc/codes"
)

// deletedTopic is what a subscription says once its topic is gone.
const deletedTopic = "_deleted-topic_"

var resourceName = regexp.MustCompile(`^projects/[^/]+/(topics|subscriptions)/([A-Za-z][A-Za-z0-9._~+%-]{2,254})$`)

// checkName refuses a name that breaks the rule of resource names. kind is
// "topics" or "subscriptions".
func (s *Server) checkName(kind, name string) error {
	m := resourceName.FindStringSubmatch(name)
	if m == nil || m[1] != kind || strings.HasPrefix(m[2], "goog") {
		return s.refusals.refuse(RuleResourceName, codes.InvalidArgument,
			"Invalid [%s] name: (name=%s). Refer to https://cloud.google.com/pubsub/docs/pubsub-basics#resource_names for more information.", kind, name)
	}
	return nil
}

func (s *Server) notFound(rule RuleID, name string) error {
	if what, ok := map[RuleID]string{RuleTopicMissing: "topic", RuleSubscriptionMissing: "subscription"}[rule]; ok && name == "" {
		return s.refusals.refuse(RuleArgumentMissing, codes.InvalidArgument, "A required argument is missing in the request: (argument=%q).", what)
	}
	return s.refusals.refuse(rule, codes.NotFound, "Resource not found (resource=%s).", lastPart(name))
}

func (s *Server) alreadyExists(name string) error {
	return s.refusals.refuse(RuleExists, codes.AlreadyExists, "Resource already exists in the project (resource=%s).", lastPart(name))
}

// notYet refuses what this stand-in doesn't do, so that nothing is passed over
// silently.
func (s *Server) notYet(what string) error {
	return s.refusals.refuse(RuleNotImplemented, codes.Unimplemented, "pubsubtest: %s isn't implemented by this stand-in.", what)
}
