package bigquerytest_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"cloud.google.com/go/bigquery"
	"cloud.google.com/go/bigquery/storage/managedwriter"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/descriptorpb"

	"cdc/sink/bigquerytest"
)

// Google's Go clients are pointed at a server by options; they read no environment
// variable for it.
func Example() {
	ctx := context.Background()
	server, err := bigquerytest.New(bigquerytest.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	// Of go run ./deploy/local --only bigquery: BIGQUERY_EMULATOR_HOST.
	client, err := bigquery.NewClient(ctx, "p", option.WithEndpoint(server.Addr()), option.WithoutAuthentication())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	// BIGQUERY_STORAGE_EMULATOR_HOST.
	writer, err := managedwriter.NewClient(ctx, "p", option.WithEndpoint(server.StorageAddr()), option.WithoutAuthentication(),
		option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		log.Fatal(err)
	}
	defer writer.Close()

	dataset := client.Dataset("shop")
	if err := dataset.Create(ctx, &bigquery.DatasetMetadata{}); err != nil {
		log.Fatal(err)
	}
	if err := dataset.Table("orders").Create(ctx, &bigquery.TableMetadata{
		Schema:           bigquery.Schema{{Name: "id", Type: bigquery.IntegerFieldType}, {Name: "what", Type: bigquery.StringFieldType}},
		TableConstraints: &bigquery.TableConstraints{PrimaryKey: &bigquery.PrimaryKey{Columns: []string{"id"}}},
	}); err != nil {
		log.Fatal(err)
	}
	server.Advance(time.Second) // a new table is NOT_FOUND for writers at first, as in the service

	stream, err := writer.NewManagedStream(ctx, managedwriter.WithType(managedwriter.DefaultStream),
		managedwriter.WithDestinationTable(managedwriter.TableParentFromParts("p", "shop", "orders")),
		managedwriter.WithSchemaDescriptor(orderDescriptor()))
	if err != nil {
		log.Fatal(err)
	}
	defer stream.Close()
	result, err := stream.AppendRows(ctx, [][]byte{
		order(1, "new", "UPSERT", "2"),
		order(1, "old", "UPSERT", "1"),
		order(2, "", "DELETE", "1"),
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := result.GetResult(ctx); err != nil {
		log.Fatal(err)
	}
	rows, err := client.Query("SELECT id, what FROM shop.orders").Read(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for {
		var row []bigquery.Value
		if rows.Next(&row) != nil {
			break
		}
		fmt.Println(row)
	}
	// Output: [1 new]
}

func orderDescriptor() *descriptorpb.DescriptorProto {
	d := &descriptorpb.DescriptorProto{Name: new("Order")}
	for i, name := range []string{"id", "what", "_CHANGE_TYPE", "_CHANGE_SEQUENCE_NUMBER"} {
		typ := descriptorpb.FieldDescriptorProto_TYPE_STRING
		if name == "id" {
			typ = descriptorpb.FieldDescriptorProto_TYPE_INT64
		}
		d.Field = append(d.Field, &descriptorpb.FieldDescriptorProto{
			Name: &name, Number: new(int32(i + 1)), Type: &typ,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum(),
		})
	}
	return d
}

func order(id uint64, what, change, sequence string) []byte {
	b := protowire.AppendTag(nil, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, id)
	for i, text := range []string{what, change, sequence} {
		b = protowire.AppendTag(b, protowire.Number(i+2), protowire.BytesType)
		b = protowire.AppendString(b, text)
	}
	return b
}
