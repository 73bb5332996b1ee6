package publish

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestEndpoint(t *testing.T) {
	for _, test := range []struct {
		e           Endpoint
		address     string
		connections int
	}{
		{Endpoint{Region: "europe-west3", MaxInFlight: 1024}, "europe-west3-pubsub.googleapis.com:443", 13},
		{Endpoint{Emulator: "127.0.0.1:8085", Region: "x", MaxInFlight: 80}, "127.0.0.1:8085", 1},
		{Endpoint{Emulator: "h:1", MaxInFlight: 81}, "h:1", 2},
		{Endpoint{Emulator: "h:1"}, "h:1", 1},
	} {
		if a, n := test.e.Address(), test.e.connections(); a != test.address || n != test.connections {
			t.Errorf("%+v: %s, %d", test.e, a, n)
		}
	}
	_, err := Connect(t.Context(), Endpoint{}, discard)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code() != "publish_no_region" {
		t.Errorf("without a region: %v", err)
	}
	conn, err := Connect(t.Context(), Endpoint{Emulator: "127.0.0.1:1", MaxInFlight: 1024}, discard)
	if err != nil {
		t.Fatal(err)
	}
	if conn.Num() != 13 {
		t.Errorf("%d connections", conn.Num())
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// TestConnectWithCredentials opens the connections to Pub/Sub itself, without a
// call: with credentials that look right, and without any.
func TestConnectWithCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials.json")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", file)
	e := Endpoint{Region: "europe-west3", MaxInFlight: 1024, UserAgent: "cdc-test/0"}
	_, err := Connect(t.Context(), e, discard)
	if e, ok := errors.AsType[*Error](err); !ok || e.Code() != "publish_no_credentials" || e.Fix() == "" {
		t.Errorf("without credentials: %v", err)
	}
	const credentials = `{"type":"authorized_user","client_id":"a","client_secret":"b","refresh_token":"c"}`
	if err := os.WriteFile(file, []byte(credentials), 0o600); err != nil {
		t.Fatal(err)
	}
	conn, err := Connect(t.Context(), e, discard)
	if err != nil {
		t.Fatal(err)
	}
	if conn.Num() != 13 {
		t.Errorf("%d connections", conn.Num())
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}
