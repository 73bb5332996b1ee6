package schema_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// debeziumEvent is written from Debezium's documentation alone
// (https://debezium.io/documentation/reference/stable/connectors/postgresql.html#postgresql-create-events,
// with schemas.enable=false): what a consumer that knows nothing of us reads.
type debeziumEvent struct {
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
	Source struct {
		Version   string `json:"version"`
		Connector string `json:"connector"`
		Name      string `json:"name"`
		TsMs      int64  `json:"ts_ms"`
		Snapshot  string `json:"snapshot"`
		DB        string `json:"db"`
		Schema    string `json:"schema"`
		Table     string `json:"table"`
		TxID      *int64 `json:"txId"`
		LSN       *int64 `json:"lsn"`
		Xmin      *int64 `json:"xmin"`
	} `json:"source"`
	Op   string `json:"op"`
	TsMs int64  `json:"ts_ms"`
}

func TestDebeziumConsumer(t *testing.T) {
	for _, test := range []struct {
		file, op, snapshot string
		before, after      bool
	}{
		{"create", "c", "false", false, true},
		{"update", "u", "false", false, true},
		{"update_full", "u", "false", true, true},
		{"delete", "d", "false", true, false},
		{"delete_full", "d", "false", true, false},
		{"read", "r", "incremental", false, true},
		{"key_change_delete", "d", "false", true, false},
		{"key_change_insert", "c", "false", false, true},
	} {
		data, err := os.ReadFile("testdata/" + test.file + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(data), "\n\n")
		var e debeziumEvent
		if err := json.Unmarshal([]byte(body), &e); err != nil {
			t.Fatalf("%s: %v", test.file, err)
		}
		if e.Op != test.op || (e.Before != nil) != test.before || (e.After != nil) != test.after {
			t.Errorf("%s: op %s, before %v, after %v", test.file, e.Op, e.Before, e.After)
		}
		s := e.Source
		if s.Connector != "postgresql" || s.Name != "shop" || s.DB != "shop" || s.Schema != "public" || s.Table != "items" ||
			s.Version == "" || s.Snapshot != test.snapshot || s.TsMs != 1767323045123 || e.TsMs < s.TsMs || s.LSN == nil || *s.LSN <= 0 {
			t.Errorf("%s: %+v", test.file, s)
		}
		if (s.TxID == nil) != (test.op == "r") {
			t.Errorf("%s: txId", test.file)
		}
		row := e.After
		if row == nil {
			row = e.Before
		}
		if id, ok := row["id"].(float64); !ok || id < 1 {
			t.Errorf("%s: id is %v", test.file, row["id"])
		}
	}
}

// Each line of a batch is such an event, too; what it leaves out is in the first.
func TestDebeziumConsumerOfBatch(t *testing.T) {
	data, err := os.ReadFile("testdata/batch.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(data), "\n\n")
	dec := json.NewDecoder(strings.NewReader(body))
	var ops strings.Builder
	for dec.More() {
		var e debeziumEvent
		if err := dec.Decode(&e); err != nil {
			t.Fatal(err)
		}
		ops.WriteString(e.Op)
	}
	if ops.String() != "cud" {
		t.Error(ops.String())
	}
}
