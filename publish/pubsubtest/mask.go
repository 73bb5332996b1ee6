package pubsubtest

import (
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
)

// masked returns old with the masked fields of changes; only the named fields
// may be changed.
func (s *Server) masked(old, changes proto.Message, mask *fieldmaskpb.FieldMask, mutable ...string) (proto.Message, error) {
	if len(mask.GetPaths()) == 0 {
		return nil, s.refusals.refuse(RuleUpdateMask, codes.InvalidArgument, "The update_mask in the request must be set and not empty.")
	}
	out := proto.Clone(old)
	to, from := out.ProtoReflect(), changes.ProtoReflect()
	for _, path := range mask.GetPaths() {
		f := to.Descriptor().Fields().ByName(protoreflect.Name(path))
		if f == nil || !slices.Contains(mutable, path) {
			return nil, s.refusals.refuse(RuleUpdateMask, codes.InvalidArgument,
				"Invalid update_mask provided in the request: %q is not a known %s field or can't be changed.", path, to.Descriptor().Name())
		}
		if from.Has(f) {
			to.Set(f, from.Get(f))
		} else {
			to.Clear(f)
		}
	}
	return proto.Clone(out), nil
}
