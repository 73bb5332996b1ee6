package pubsubtest

import (
	"context"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"google.golang.org/protobuf/types/known/emptypb"
)

// The methods below are refused with a text that says so.

func (p *publisherService) ListTopicSnapshots(context.Context, *pubsubpb.ListTopicSnapshotsRequest) (*pubsubpb.ListTopicSnapshotsResponse, error) {
	return nil, p.s.notYet("a snapshot")
}

func (p *subscriberService) ModifyPushConfig(context.Context, *pubsubpb.ModifyPushConfigRequest) (*emptypb.Empty, error) {
	return nil, p.s.notYet("push delivery")
}

func (p *subscriberService) GetSnapshot(context.Context, *pubsubpb.GetSnapshotRequest) (*pubsubpb.Snapshot, error) {
	return nil, p.s.notYet("a snapshot")
}

func (p *subscriberService) ListSnapshots(context.Context, *pubsubpb.ListSnapshotsRequest) (*pubsubpb.ListSnapshotsResponse, error) {
	return nil, p.s.notYet("a snapshot")
}

func (p *subscriberService) CreateSnapshot(context.Context, *pubsubpb.CreateSnapshotRequest) (*pubsubpb.Snapshot, error) {
	return nil, p.s.notYet("a snapshot")
}

func (p *subscriberService) UpdateSnapshot(context.Context, *pubsubpb.UpdateSnapshotRequest) (*pubsubpb.Snapshot, error) {
	return nil, p.s.notYet("a snapshot")
}

func (p *subscriberService) DeleteSnapshot(context.Context, *pubsubpb.DeleteSnapshotRequest) (*emptypb.Empty, error) {
	return nil, p.s.notYet("a snapshot")
}
