//go:build deps

// Package cdc pins the dependencies while the packages that need them are written.
package cdc

import (
	_ "cloud.google.com/go/bigquery"
	_ "cloud.google.com/go/bigquery/storage/apiv1/storagepb"
	_ "cloud.google.com/go/bigquery/storage/managedwriter"
	_ "cloud.google.com/go/iam/apiv1/iampb"
	_ "cloud.google.com/go/pubsub/v2"
	_ "cloud.google.com/go/pubsub/v2/apiv1"
	_ "cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	_ "cloud.google.com/go/pubsub/v2/pstest"
	_ "github.com/goccy/go-yaml"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/googleapis/gax-go/v2"
	_ "github.com/googleapis/gax-go/v2/apierror"
	_ "github.com/invopop/jsonschema"
	_ "github.com/jackc/pglogrepl"
	_ "github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/spf13/cobra"
	_ "github.com/vbauerster/mpb/v8"
	_ "golang.org/x/sync/errgroup"
	_ "golang.org/x/sync/semaphore"
	_ "golang.org/x/term"
	_ "golang.org/x/time/rate"
	_ "google.golang.org/api/bigquery/v2"
	_ "google.golang.org/api/option"
	_ "google.golang.org/genproto/googleapis/rpc/errdetails"
	_ "google.golang.org/grpc"
	_ "google.golang.org/protobuf/encoding/protowire"
	_ "google.golang.org/protobuf/types/dynamicpb"
)
